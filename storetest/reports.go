package storetest

var reportCases []testCase
