package work

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Tool is the name of the tool that is called, and About what the model is told of
// it.
const (
	Tool  = "find"
	About = "Finds the list with a title and says how much is on it."
)

// Input is the input of every tool.
type Input struct {
	// Title is the title of a list.
	Title string `json:"title" jsonschema:"the title of a list" jsonschema_description:"the title of a list"`
	// Limit is the most that may be found.
	Limit int `json:"limit" jsonschema:"the most that may be found" jsonschema_description:"the most that may be found"`
}

// Answer is the output of every tool.
type Answer struct {
	Title string `json:"title"`
	Found int    `json:"found"`
}

// Args are the arguments of every call, and Result what an answer to them is as JSON.
const (
	Args   = `{"title":"Shopping list","limit":25}`
	Result = `{"title":"Shopping list","found":25}`
)

// Find is what every tool does.
func Find(in Input) (Answer, error) {
	if in != (Input{Title: "Shopping list", Limit: 25}) {
		return Answer{}, fmt.Errorf("the tool was called with %+v and not with %s", in, Args)
	}
	return Answer{Title: in.Title, Found: in.Limit}, nil
}

// FindJSON is Find for systems whose tools take and return text: decoded and encoded
// as a user would, with encoding/json.
func FindJSON(args string) (string, error) {
	var in Input
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return "", err
	}
	out, err := Find(in)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// OtherTool is the name of tool i, from 1 to the number of tools less one.
func OtherTool(i int) string { return "tool_" + strconv.Itoa(i) }
