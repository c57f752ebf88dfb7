// Command semel is the gateway, its console tools and the demo.
package main

import _ "github.com/semel-dev/semel"

func main() {}
