package diag

import "go/token"

// Note is a further place that belongs to a problem: the other party of a conflict, the declaration that decides.
// A zero position is allowed and printed as no place.
type Note struct {
	Pos     token.Position
	Message string
}

// Remark is a note without a place, such as a message of the go command.
func Remark(text string) Note { return Note{Message: text} }

// HaveWant returns the notes of a wrong signature.
func HaveWant(have, want string) []Note {
	return []Note{{Message: "have " + have}, {Message: "want " + want}}
}

// DeclaredHere is the note with the declaration of the other party.
func DeclaredHere(pos token.Position, name string) Note { return Note{pos, name + " is declared here"} }

// DeclaresIt is the note with the type or method that declares the problem's subject.
func DeclaresIt(pos token.Position, name string) Note { return Note{pos, name + " declares it here"} }

// ItIsDeclaredHere is the note with the declaration of the subject of a problem that is reported elsewhere.
func ItIsDeclaredHere(pos token.Position) Note { return Note{pos, "it is declared here"} }

// ToolDeclaredHere is the note with the declaration of a tool.
func ToolDeclaredHere(pos token.Position) Note { return Note{pos, "a tool is declared here"} }

// FirstStandsHere is the place of the first of two.
func FirstStandsHere(pos token.Position) Note { return Note{pos, "the first stands here"} }

// IsValue says that a field is no pointer.
func IsValue(pos token.Position, field string) Note { return Note{pos, field + " is a value"} }

// OneVersion says that the contract and hookgen must have the same version.
func OneVersion(contract string) Note {
	return Note{Message: "generated code would not compile: " + contract + " and hookgen must have the same version"}
}

// Unchanged says that a package was there already.
func Unchanged(name string) Note {
	return Note{Message: name + " exists already, so nothing was changed"}
}

// Quoting is the note that repeats another problem.
func Quoting(p Problem) Note { return Note{p.Pos, p.Message() + " (" + p.Code + ")"} }
