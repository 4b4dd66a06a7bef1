package cost

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/grapnel-go/grapnel/hook"
	"github.com/grapnel-go/grapnel/hook/message"
)

// Table has the price of each model by its id. An id that ends in * is a prefix; the
// longest id that matches counts.
type Table map[string]Price

// Price is a model's price in US dollars per million tokens, at most a million dollars.
// What a call costs is rounded to a billionth of a dollar.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	// CacheRead and CacheWrite are for input from the cache and to it; nil costs as
	// Input does.
	CacheRead  *float64 `json:"cache_read"`
	CacheWrite *float64 `json:"cache_write"`
}

// rate is a [Price] per token, in billionths of a dollar.
type rate struct{ input, output, read, write float64 }

// cost returns the cost of the usage. Output includes reasoning, and input includes cached
// tokens.
func (r rate) cost(u message.Usage) hook.Cost {
	plain := max(u.Input-u.CacheRead-u.CacheWrite, 0)
	sum := float64(plain)*r.input + float64(u.CacheRead)*r.read + float64(u.CacheWrite)*r.write + float64(u.Output)*r.output
	return hook.Cost(math.Round(min(max(sum, 0), maxCost)))
}

// maxCost is what a call costs at most, whatever its usage says.
const maxCost = 1e18

type prices struct {
	exact map[string]rate
	// prefixes are sorted, the longest first.
	prefixes []prefix
}

type prefix struct {
	text string
	rate rate
}

func (p prices) of(model string) (rate, bool) {
	if r, ok := p.exact[model]; ok {
		return r, true
	}
	for _, pre := range p.prefixes {
		if strings.HasPrefix(model, pre.text) {
			return pre.rate, true
		}
	}
	return rate{}, false
}

func (t Table) compiled() (prices, error) {
	p := prices{exact: map[string]rate{}}
	for _, model := range slices.Sorted(maps.Keys(t)) {
		r, err := t[model].rate()
		if err != nil {
			return p, fmt.Errorf("price of %q: %w", model, err)
		}
		text, several := strings.CutSuffix(model, "*")
		switch {
		case model == "" || strings.Contains(text, "*"):
			return p, fmt.Errorf("price of %q: a model is named by its id, or by its beginning and one * at the end", model)
		case several:
			p.prefixes = append(p.prefixes, prefix{text, r})
		default:
			p.exact[model] = r
		}
	}
	slices.SortStableFunc(p.prefixes, func(a, b prefix) int { return len(b.text) - len(a.text) })
	return p, nil
}

func (p Price) rate() (rate, error) {
	read, write := p.Input, p.Input
	if p.CacheRead != nil {
		read = *p.CacheRead
	}
	if p.CacheWrite != nil {
		write = *p.CacheWrite
	}
	var out [4]float64
	for i, v := range []float64{p.Input, p.Output, read, write} {
		if !(v >= 0 && v <= 1e6) { // NaN is no price either
			name := []string{"input", "output", "cache_read", "cache_write"}[i]
			return rate{}, fmt.Errorf("%s: %v is no price; write dollars per million tokens, from 0 to 1000000", name, v)
		}
		out[i] = v * 1000
	}
	return rate{out[0], out[1], out[2], out[3]}, nil
}

// Parse reads the text of a price list:
//
//	{"models": {"gpt-5*": {"input": 1.25, "output": 10, "cache_read": 0.125}}}
//
// Unknown and repeated keys are errors. Errors name the text by source.
func Parse(data []byte, source string) (Table, error) {
	list, err := message.DecodeStrict[struct {
		Models Table `json:"models"`
	}](message.JSON(data))
	if err == nil {
		_, err = list.Models.compiled()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return list.Models, nil
}
