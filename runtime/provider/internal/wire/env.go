package wire

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Env reads the variables of a vendor. Its errors name the variable and what to write.
type Env struct {
	// Vendor is the name with which errors begin, Prefix that of the variables: GEMINI for
	// GEMINI_IDLE_TIMEOUT.
	Vendor, Prefix string
	// Getenv is os.Getenv, or stands in for it.
	Getenv func(string) string
}

// Text returns a variable without blanks around it; "" if it is not set.
func (e Env) Text(name string) string { return strings.TrimSpace(e.Getenv(e.Prefix + "_" + name)) }

// Duration returns a time; 0 if it is not set. It is never 0 otherwise.
func (e Env) Duration(name string) (time.Duration, error) {
	text := e.Text(name)
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d == 0 {
		return 0, fmt.Errorf("%s: %s_%s is %q; write a duration such as 90s, or -1s for no limit", e.Vendor, e.Prefix, name, text)
	}
	return d, nil
}

// Tokens returns a number of tokens above 0; 0 if it is not set.
func (e Env) Tokens(name string) (int, error) {
	text := e.Text(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%s: %s_%s is %q; write a number of tokens such as 32768", e.Vendor, e.Prefix, name, text)
	}
	return n, nil
}
