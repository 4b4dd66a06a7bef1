package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Rule is one rule of a wire.
type Rule struct {
	// ID names the rule in a Refusal.
	ID string
	// Why says what the rule demands.
	Why string
	// Source is where the rule is public: a page, an issue or a pull request
	// (owner/repo#n), or a type of the vendor's SDK with its file.
	Source string
	// Status is the status of the refusal; 0 is 400.
	Status int
	// Type and Code are those of the vendor's error; "" is the wire's usual type, and no
	// code.
	Type, Code string
	// Ours: the source has the rule but not the words of the refusal, so they are ours.
	Ours bool
}

// Refusal is a server's answer to a request that breaks a rule.
type Refusal struct {
	// Rule is the ID of the rule.
	Rule string
	// Status is the status of the response.
	Status int
	// Message, Type, Code and Param are those of the vendor's error; "" is null or
	// missing.
	Message, Type, Code, Param string
	// Body is the whole response.
	Body string
}

// Check collects the rules that one request breaks. It belongs to one request.
type Check struct {
	// Model is the model that is asked; "" as long as it is not known.
	Model string
	// Signer checks signatures; nil takes each that is not empty.
	Signer *Signer
	// Memory is what the server has answered before; nil is nothing.
	Memory *Memory
	// Parser reads JSON in strings.
	Parser *Parser

	vendor *Vendor
	// without is the ID of a rule that does not count.
	without string
	broken  []Refusal
}

// NewCheck returns the check of one request to the vendor. The rule named by without does
// not count, "" is none: tests of the rules leave one out.
func NewCheck(v *Vendor, p *Parser, without string) *Check {
	return &Check{vendor: v, Parser: p, without: without}
}

// Refuse notes that the request breaks a rule. It panics if the vendor has no such rule.
func (c *Check) Refuse(rule, param, format string, args ...any) {
	r := c.vendor.rule(rule)
	if rule == c.without {
		return
	}
	no := Refusal{Rule: rule, Status: r.Status, Message: format, Type: r.Type, Code: r.Code, Param: param}
	if len(args) > 0 {
		no.Message = fmt.Sprintf(format, args...)
	}
	if no.Status == 0 {
		no.Status = http.StatusBadRequest
	}
	no.Body = c.vendor.Body(&no)
	c.broken = append(c.broken, no)
}

// Broken returns what the request has broken, in the order in which the server looks at it.
// The first is what it answers.
func (c *Check) Broken() []Refusal { return c.broken }

// OK reports whether the request has broken nothing so far.
func (c *Check) OK() bool { return len(c.broken) == 0 }

// Body parses and checks the body of a request and returns it.
func (c *Check) Body(body string) Node {
	if c.vendor.MaxBody > 0 && len(body) > c.vendor.MaxBody {
		c.Refuse("size", "", "Request exceeds the maximum size")
	}
	root, fault := c.Parser.Parse(body)
	if fault != "" || root.Kind != Object {
		if fault == "" {
			fault = "it is no object"
		}
		c.vendor.Fault(c, fault)
		return Node{}
	}
	c.vendor.Check(c, root)
	return root
}

// Unknown returns the first member of an object that is none of the names, which are
// separated by blanks; "" if there is none.
func Unknown(n Node, names string) string {
	for i := range n.List {
		if key := n.List[i].Key; !Among(names, key) {
			return key
		}
	}
	return ""
}

// Among reports whether the name is one of names, which are separated by blanks.
func Among(names, name string) bool {
	for one := range strings.SplitSeq(names, " ") {
		if one == name {
			return true
		}
	}
	return false
}

// Word reports whether s matches ^[a-zA-Z0-9_-]+$.
func Word(s string) bool {
	for i := range len(s) {
		switch b := s[i]; {
		case b|0x20 >= 'a' && b|0x20 <= 'z', b >= '0' && b <= '9', b == '_', b == '-':
		default:
			return false
		}
	}
	return s != ""
}

// M is a JSON object to be written.
type M = map[string]any

// JSON returns the JSON of a value made of maps, slices, strings and numbers.
func JSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("wire: " + err.Error())
	}
	return string(data)
}

// OrNull returns s, or nil for the empty string.
func OrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
