package diag

import "go/token"

// Note is a further place that belongs to a problem: the other party of a conflict, the declaration that decides.
// A zero position is allowed and printed as no place.
type Note struct {
	Pos     token.Position
	Message string
}

// Remark is a note without a place: what somebody else says, such as the go command.
func Remark(text string) Note { return Note{Message: text} }

// HaveWant are the notes of a signature that is another than it has to be.
func HaveWant(have, want string) []Note {
	return []Note{{Message: "have " + have}, {Message: "want " + want}}
}

// DeclaredHere is where the other party is declared.
func DeclaredHere(pos token.Position, name string) Note { return Note{pos, name + " is declared here"} }

// DeclaresIt is where a type or method declares what the problem is about.
func DeclaresIt(pos token.Position, name string) Note { return Note{pos, name + " declares it here"} }

// ItIsDeclaredHere is where the subject of a problem is declared that is reported elsewhere.
func ItIsDeclaredHere(pos token.Position) Note { return Note{pos, "it is declared here"} }

// ToolDeclaredHere is where a type declares one of its tools.
func ToolDeclaredHere(pos token.Position) Note { return Note{pos, "a tool is declared here"} }

// FirstStandsHere is the place of the first of two.
func FirstStandsHere(pos token.Position) Note { return Note{pos, "the first stands here"} }

// IsValue says that a field is no pointer.
func IsValue(pos token.Position, field string) Note { return Note{pos, field + " is a value"} }

// OneVersion says which packages have to be of the version of hookgen.
func OneVersion(contract string) Note {
	return Note{Message: "generated code would not compile: " + contract + " and hookgen are of one version"}
}

// Unchanged says that a package was there already.
func Unchanged(name string) Note {
	return Note{Message: name + " exists already, so nothing was changed"}
}

// Quoting is the note that repeats another problem.
func Quoting(p Problem) Note { return Note{p.Pos, p.Message() + " (" + p.Code + ")"} }
