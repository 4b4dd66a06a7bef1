// Command empty serves nothing: what a program of net/http is without an agent.
package main

import (
	"log"
	"net/http"
)

func main() {
	log.Fatal(http.ListenAndServe("localhost:8080", nil))
}
