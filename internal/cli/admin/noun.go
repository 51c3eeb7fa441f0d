package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// noun is a table of what the command line shows of a kind, T in the management API. The commands list, show and
// remove come from it.
type noun[T any] struct {
	kind
	fields  func(*T) []field                 // of one, in the order in which show has them
	columns []string                         // names of the fields that list has
	filters []filter                         // flags of list
	table   bool                             // list has the flag --csv
	below   func(w io.Writer, item *T) error // prints what show has below the fields; nil: there is no more

	listHelp, showHelp, removeHelp help
	removed                        string // what the removal has come to; empty: is removed
}

// help is the help of a command.
type help struct{ short, long string }

// field is a name and a cell of a [terminal.Table].
type field struct {
	name string
	cell any // nil: there is none
}

// inList is a cell that only list has.
type inList struct{ any }

// list is the command list.
func (n *noun[T]) list(a *Client) *cobra.Command {
	use, args := n.listUsage()
	var p pages
	asTable := false
	cmd := &cobra.Command{Use: use, Short: n.listHelp.short, Long: n.listHelp.long, Args: args}
	cmd.RunE = interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) (err error) {
		p.query = url.Values{}
		if p.path, err = n.listed(args, p.query); err != nil {
			return err
		}
		for _, f := range n.filters {
			if err := f.apply(cmd.Flags(), p.query, len(args) > 0); err != nil {
				return err
			}
		}
		if asTable {
			return a.printTable(ctx, cmd, p.path+".csv?"+p.query.Encode())
		}
		table := terminal.NewTable(cmd.OutOrStdout(), n.columns...)
		return p.print(ctx, cmd, a, table, func(raw json.RawMessage) error { return n.addRow(table, raw) })
	})
	for _, f := range n.filters {
		f.add(cmd.Flags())
	}
	p.flags(cmd)
	if n.table {
		cmd.Flags().BoolVar(&asTable, "csv", false, "all of them as CSV for a spreadsheet, with names and answers; the audit notes it")
	}
	return cmd
}

// printTable prints a list as the gateway writes it for spreadsheets.
func (a *Client) printTable(ctx context.Context, cmd *cobra.Command, path string) error {
	answer, err := a.open(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(cmd.OutOrStdout(), answer.Body)
	return brokenOff(err)
}

// addRow adds one of a list to its table.
func (n *noun[T]) addRow(table *terminal.Table, raw json.RawMessage) error {
	item := new(T)
	if err := json.Unmarshal(raw, item); err != nil {
		return err
	}
	table.Row(n.row(item)...)
	return nil
}

// row returns the cells of one in a list.
func (n *noun[T]) row(item *T) []any {
	fields := n.fields(item)
	row := make([]any, len(n.columns))
	for i, column := range n.columns {
		for _, f := range fields {
			listed, only := f.cell.(inList)
			switch {
			case f.name != column:
			case only:
				row[i] = listed.any
			case row[i] == nil:
				row[i] = f.cell
			}
		}
	}
	return row
}

// show is the command show.
func (n *noun[T]) show(a *Client) *cobra.Command {
	cmd := &cobra.Command{Use: "show", Short: cmp.Or(n.showHelp.short, "Shows "+indefinite(n.noun())), Long: n.showHelp.long}
	return n.verb(a, cmd, func(ctx context.Context, cmd *cobra.Command, path string, _ []string) error {
		item := new(T)
		if shown, err := a.ask(ctx, cmd, http.MethodGet, path, nil, item); shown || err != nil {
			return err
		}
		return n.print(cmd.OutOrStdout(), item)
	})
}

// print prints one, as show does.
func (n *noun[T]) print(w io.Writer, item *T) error {
	table := terminal.NewTable(w)
	for _, f := range n.fields(item) {
		if _, listed := f.cell.(inList); !listed {
			table.Row(f.name, f.cell)
		}
	}
	if err := table.Flush(); err != nil || n.below == nil {
		return err
	}
	return n.below(w, item)
}

// remove is the command remove, which asks the person at the terminal first.
func (n *noun[T]) remove(a *Client) *cobra.Command {
	cmd := &cobra.Command{Use: "remove", Short: n.removeHelp.short, Long: n.removeHelp.long}
	return n.deletion(a, cmd, a.asking(cmd))
}

// disable is the command disable: what it deletes stays in the list, and can be brought back.
func (n *noun[T]) disable(a *Client) *cobra.Command {
	return n.deletion(a, &cobra.Command{Use: "disable", Aliases: []string{"remove"}, Short: n.removeHelp.short,
		Long: n.removeHelp.long}, func(context.Context, *cobra.Command, string) error { return nil })
}

// deletion completes a command that deletes one, unless ask refuses.
func (n *noun[T]) deletion(
	a *Client, cmd *cobra.Command, ask func(ctx context.Context, cmd *cobra.Command, what string) error,
) *cobra.Command {
	return n.verb(a, cmd, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		if err := ask(ctx, cmd, args[0]); err != nil {
			return err
		}
		return a.do(ctx, cmd, http.MethodDelete, path, args[0]+" "+cmp.Or(n.removed, "is removed"))
	})
}

// repeated returns a field for each of several values, all of one name.
func repeated(name string, values []string) (all []field) {
	for _, value := range values {
		all = append(all, field{name, value})
	}
	return all
}

// ifSet returns a field, unless its value is a zero one.
func ifSet[V comparable](name string, value V) []field {
	if value == *new(V) {
		return nil
	}
	return []field{{name, value}}
}

func yesOrNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// indefinite puts the article before a word.
func indefinite(word string) string {
	if strings.ContainsRune("aeiouA", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}
