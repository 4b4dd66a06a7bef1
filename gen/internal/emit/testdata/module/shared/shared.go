// Package shared has types that inputs of another package use.
package shared

// Unit is a unit of time.
type Unit string

// The units.
const (
	Day  Unit = "day"
	Week Unit = "week"
	// hour is known by its value only.
	hour Unit = "hour"
)

// Span is a time span.
type Span struct {
	// Count of units.
	Count uint8 `json:"count" hook:"min=1"`
	// Unit of the span.
	Unit Unit `json:"unit,omitzero" hook:"default=week"`
}

// Default is used when nothing is said.
func Default() Unit { return hour }
