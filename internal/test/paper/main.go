// Paper prints the tables of docs/scale that nobody here can measure: a million conversations and
// ten thousand turns at the same time. They follow from the figures in inputs.go, each with its
// source. To replace one by a measurement, change it there and run
//
//	go test ./internal/test/paper -update
package main

import "fmt"

func main() { fmt.Print(tables()) }
