package config

import (
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// sensitive marks a value that must not be shown.
type sensitive struct{}

// Env is what a pipeline file may read of the world.
type Env struct {
	// LookupEnv is os.LookupEnv.
	LookupEnv func(name string) (string, bool)
	// ReadFile is os.ReadFile. Relative paths are relative to the directory
	// that twg was started in.
	ReadFile func(path string) ([]byte, error)
	// Mode is the permissions of what ReadFile reads; nil: nobody looks at them.
	Mode func(path string) (fs.FileMode, error)
}

// maxFileValue bounds what file() reads into a setting.
const maxFileValue = 1 << 20

func functions(env Env, secrets *Secrets) map[string]function.Function {
	return map[string]function.Function{
		"env":          envFunction(env, secrets),
		"file":         fileFunction(env, secrets),
		"format":       stdlib.FormatFunc,
		"nonsensitive": nonsensitiveFunction(secrets),
	}
}

func markSecret(secrets *Secrets, v string) cty.Value {
	secrets.add(v)
	return cty.StringVal(v).Mark(sensitive{})
}

func envFunction(env Env, secrets *Secrets) function.Function {
	return function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam: &function.Parameter{Name: "default", Type: cty.String},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			if v, ok := env.LookupEnv(name); ok {
				return markSecret(secrets, v), nil
			}
			if len(args) == 2 {
				return args[1].Mark(sensitive{}), nil
			}
			return cty.NilVal, fmt.Errorf("The environment variable %s is not set. Set it, or give a default: env(%q, \"...\").", name, name)
		},
	})
}

func fileFunction(env Env, secrets *Secrets) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			text, err := env.ReadFile(args[0].AsString())
			switch {
			case err != nil:
				return cty.NilVal, fmt.Errorf("The file cannot be read: %w. Relative paths start at the directory that twg was started in.", err)
			case len(text) > maxFileValue:
				return cty.NilVal, fmt.Errorf("The file has more than %d bytes.", maxFileValue)
			case !utf8.Valid(text):
				return cty.NilVal, fmt.Errorf("The file is not UTF-8 text.")
			}
			return markSecret(secrets, strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")), nil
		},
	})
}

// nonsensitiveFunction takes the mark off: its user says that the value may be
// shown.
func nonsensitiveFunction(secrets *Secrets) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowMarked: true, AllowNull: true}},
		Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, _ := args[0].UnmarkDeep()
			if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
				secrets.reveal(v.AsString())
			}
			return v, nil
		},
	})
}
