package storetest

var randomCases []testCase
