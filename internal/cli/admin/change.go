package admin

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hiregate/hiregate/internal/model"
)

// setting is a flag of the command set, which gives a field of I.
type setting[I any] struct {
	flag  string
	field func(*I) any // of a type that add knows
	help  string
}

// settings are the flags of a command set that changes what they name, and keeps all else. T is what the management API
// answers, I what it takes.
type settings[T, I any] struct {
	flags []setting[I]
	kept  func(*T) I // what is stored, as it is sent back
}

// add adds the flags to a command. They give the fields of in.
func (s *settings[T, I]) add(fl *pflag.FlagSet, in *I) {
	for _, f := range s.flags {
		switch to := f.field(in).(type) {
		case *string:
			fl.StringVar(to, f.flag, "", f.help)
		case *bool:
			fl.BoolVar(to, f.flag, false, f.help)
		case *int:
			fl.IntVar(to, f.flag, 0, f.help)
		case *[]string:
			fl.StringArrayVar(to, f.flag, nil, f.help)
		case **model.Rate:
			fl.Var(&parsed{kind: "string", read: func(s string) (err error) {
				if *to = nil; s != "" {
					*to, err = model.ParseRate(strings.Fields(s))
				}
				return err
			}}, f.flag, f.help)
		case *map[string]string:
			fl.Var(&parsed{kind: "strings", read: func(s string) (err error) {
				if *to = nil; s != "" {
					*to, err = model.ParseLabels(strings.Split(s, ","))
				}
				return err
			}}, f.flag, f.help)
		case *model.Schedule:
			fl.Var(&parsed{kind: "strings", read: func(s string) (err error) {
				if *to = nil; s != "" {
					*to, err = model.ParseSchedule(strings.Split(s, ","))
				}
				return err
			}}, f.flag, f.help)
		default:
			panic("admin: no flag is known for the type of " + f.flag)
		}
	}
}

// parsed is a flag whose value a function reads. It is given once: the last of two would win without a word.
type parsed struct {
	kind, text string
	given      bool
	read       func(string) error
}

func (p *parsed) Set(s string) error {
	if p.given {
		return errors.New("the flag stands there twice: give all of its value at once")
	}
	p.text, p.given = s, true
	return p.read(s)
}
func (p *parsed) String() string { return p.text }
func (p *parsed) Type() string   { return p.kind }

// keep adds the stored settings at path to in, which has those of the flags. made reports that nothing is stored there: in
// stays as it is then. With the header, a PUT is refused if the stored settings have changed meanwhile.
func (s *settings[T, I]) keep(
	ctx context.Context, a *Client, cmd *cobra.Command, path string, in *I,
) (unchanged http.Header, made bool, err error) {
	var before T
	header, err := a.Send(ctx, http.MethodGet, path, nil, nil, &before)
	if refused := new(Refusal); errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return http.Header{"If-None-Match": {"*"}}, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	given, next := *in, s.kept(&before)
	for _, f := range s.flags {
		if cmd.Flags().Changed(f.flag) {
			reflect.ValueOf(f.field(&next)).Elem().Set(reflect.ValueOf(f.field(&given)).Elem())
		}
	}
	*in = next
	unchanged = http.Header{}
	if tag := header.Get("ETag"); tag != "" {
		unchanged.Set("If-Match", tag)
	}
	return unchanged, false, nil
}
