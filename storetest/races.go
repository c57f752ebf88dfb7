package storetest

var raceCases []testCase
