package cost_test

import (
	"fmt"

	"github.com/grapnel-go/grapnel/hook/message"
	"github.com/grapnel-go/grapnel/subsystems/cost"
)

func Example() {
	c, err := cost.New(&cost.Options{Prices: cost.Table{"gpt-5*": {Input: 1.25, Output: 10}}})
	if err != nil {
		panic(err)
	}
	fmt.Println(c.Price("gpt-5-mini", message.Usage{Input: 12_000, Output: 800}))

	_, err = cost.New(&cost.Options{Prices: cost.Table{"gpt-5": {Input: -1}}})
	fmt.Println(err)
	// Output:
	// $0.0230
	// price of "gpt-5": input: -1 is no price; write dollars per million tokens, from 0 to 1000000
}
