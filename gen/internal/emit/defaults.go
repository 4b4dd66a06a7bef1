package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/grapnel-go/grapnel/gen/internal/model"
)

// Defaults writes the defaults of a subsystem: as a method for composites that are made at run time and, for a subsystem without
// typed tools, as the constants that generated code of other packages reads.
func Defaults(f *File, s *model.Subsystem) {
	if !s.HasDefaults() {
		return
	}
	d := s.Defaults.String()
	if len(s.Tools) == 0 {
		f.Add(comment(s.RevName()+" identifies the points and defaults of ["+s.Name+"]; composites compile against it.",
			jen.Const().Add(identifier(s.RevName())).Op("=").Op(fmt.Sprintf("0x%08x", s.Rev()))))
		f.Add(comment(s.ManifestName()+" tells hookgen in other packages what ["+s.Name+"] says of itself.",
			jen.Const().Add(identifier(s.ManifestName())).Op("=").Lit(fmt.Sprintf("hook1 rev=%08x %s", s.Rev(), d))))
	}
	f.Add(comment(model.DefaultsMethod+" is what //hook:subsystem says of ["+s.Name+"], for [composite.New].",
		jen.Func().Params(jen.Op("*").Add(identifier(s.Name))).Id(model.DefaultsMethod).Params().String().Block(
			jen.Return(jen.Lit(s.Pkg.Types.Name()+"."+s.Name+" "+d)))))
}
