package model

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/grapnel-go/grapnel/gen/internal/diag"
	"github.com/grapnel-go/grapnel/gen/internal/directive"
	"github.com/grapnel-go/grapnel/gen/internal/schema"
)

var validTool = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func (m *Model) declareTool(p *Package, f directive.Found) {
	decl := f.Node.(*ast.FuncDecl)
	method, ok := p.Info.Defs[decl.Name].(*types.Func)
	if !ok {
		return
	}
	named := receiverType(method)
	if named == nil {
		m.invalid(diag.InvalidReceiver, decl.Name.Pos(), "", decl.Name.Name)
		return
	}
	if named.TypeParams().Len() > 0 && (!m.usableParams(named, f) || m.parametric(method)) {
		return
	}
	s := m.subsystem(p, named)
	t := &Tool{
		Name: f.Tool.Name, Method: method, Decl: decl, Doc: strings.TrimSpace(decl.Doc.Text()), Options: *f.Tool, Pos: decl.Name.Pos(),
	}
	if t.Name == "" {
		t.Name = s.Options.Prefix + Snake(decl.Name.Name)
	}
	t.Const = ConstName(t.Name)
	s.Tools = append(s.Tools, t)
}

// parametric reports a tool whose arguments depend on type parameters of its subsystem: only an instance would have a schema.
func (m *Model) parametric(method *types.Func) bool {
	for i, v := range slices.Collect(method.Signature().Params().Variables()) {
		if i > 0 && schema.Parametric(v.Type()) {
			m.addMethod(diag.ParametricInput, v.Pos(), receiverType(method).Obj().Name(), method.Name())
			return true
		}
	}
	for p := range method.Signature().RecvTypeParams().TypeParams() {
		if p.Obj().Name() == "_" {
			m.addMethod(diag.NamelessParameter, method.Pos(), receiverType(method).Obj().Name(), method.Name())
			return true
		}
	}
	return false
}

func receiverType(method *types.Func) *types.Named {
	recv := method.Signature().Recv()
	if recv == nil {
		return nil
	}
	t := types.Unalias(recv.Type())
	if ptr, ok := t.(*types.Pointer); ok {
		t = types.Unalias(ptr.Elem())
	}
	named, _ := t.(*types.Named)
	if named == nil {
		return nil
	}
	return named.Origin()
}

func (m *Model) checkSubsystem(s *Subsystem) {
	for i, t := range s.Tools {
		m.checkTool(s, t, s.Tools[:i])
	}
	a := m.analyze(s.Named)
	s.Points = m.names(a.points)
	composite := slices.ContainsFunc(s.Pkg.Composites, func(c *Composite) bool { return c.Named == s.Named })
	if !a.hook && !composite {
		m.add(diag.SubsystemNoHook, s.Pos, s.Name, strings.Join(a.missing, ", "))
	}
	m.defaults(s)
	if len(s.Tools) == 0 {
		return
	}
	if s.Options.Dynamic || len(s.Names) > 0 {
		m.add(diag.MixedTools, s.Pos, s.Name)
	}
	for _, name := range []string{"Schema", "Dispatch"} {
		if own := declaredMethod(s.Named, name); own != nil {
			m.addMethod(diag.MethodTaken, own.Pos(), s.Name, name)
		}
	}
}

func (m *Model) checkTool(s *Subsystem, t *Tool, before []*Tool) {
	if !validTool.MatchString(t.Name) {
		m.add(diag.BadToolName, t.Pos, t.Name, validTool)
		return
	}
	i := slices.IndexFunc(before, func(o *Tool) bool { return o.Name == t.Name || o.Const == t.Const })
	if i >= 0 {
		o := before[i]
		p := diag.New(diag.DuplicateTool, m.Position(t.Pos), t.Name, s.Name+"."+o.Method.Name(), s.Name+"."+t.Method.Name())
		p.Notes = []diag.Note{diag.DeclaresIt(m.Position(o.Pos), o.Method.Name())}
		m.Add(p)
	}
	if t.Doc == "" {
		m.addMethod(diag.UndescribedTool, t.Pos, t.Name, t.Method.Name())
	}
}

func declaredMethod(named *types.Named, name string) *types.Func {
	for f := range named.Methods() {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// Snake returns a Go name in snake_case: ListAll is list_all, HTTPGet is http_get.
func Snake(name string) string {
	var sb strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 {
			after := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if !unicode.IsUpper(runes[i-1]) || after {
				sb.WriteByte('_')
			}
		}
		sb.WriteRune(unicode.ToLower(r))
	}
	return sb.String()
}

// ConstName returns the name of the constant for a tool: note_add is ToolNoteAdd.
func ConstName(tool string) string {
	out := "Tool"
	for part := range strings.FieldsFuncSeq(tool, func(r rune) bool { return r == '_' || r == '-' }) {
		out += strings.ToUpper(part[:1]) + part[1:]
	}
	return out
}

// Rev returns the value of the constant RevName.
func (s *Subsystem) Rev() uint32 {
	tools := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		tools[i] = t.Name
	}
	if text := s.Defaults.String(); text != "" {
		tools = append(tools, "", text)
	}
	return RevOf(s.Points, tools)
}

// RevName returns the name of the generated constant that identifies points and tools.
func (s *Subsystem) RevName() string { return s.Name + "Rev" }

// ManifestName returns the name of the generated constant that other modules read.
func (s *Subsystem) ManifestName() string { return s.Name + "Hook" }

// Tool returns the tool with this name, or nil.
func (s *Subsystem) Tool(name string) *Tool {
	i := slices.IndexFunc(s.Tools, func(t *Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return s.Tools[i]
}
