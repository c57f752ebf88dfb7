module github.com/semel-dev/semel/internal/integration

go 1.26

require (
	github.com/dunglas/httpsfv v1.1.2
	github.com/go-json-experiment/json v1.27.2
	github.com/semel-dev/semel v0.0.0-00010101000000-000000000000
)

replace github.com/semel-dev/semel => ../..
