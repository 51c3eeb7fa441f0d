package admin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

// Step returns the command `hiregate step`.
func Step() *cobra.Command {
	return group(&cobra.Command{
		Use:   "step",
		Short: "Lists, shows, sets and removes the steps of a hiring workflow, and their helpers",
		Long: `Lists, shows, sets and removes the steps of a tenant's hiring workflow. A step may have a helper,
which exports a candidate when one of their job applications enters the step.`,
		Example: `  hiregate step list initech
  hiregate step set initech/hired --name Hired --category hired --helper payroll
  hiregate step set initech/interview --name Interview --position 1
  hiregate step remove initech/interview`,
	}, steps.list, stepShow, stepSet, stepRemove)
}

var steps = noun[model.Step]{
	kind:     kind{command: "step", at: "steps", arg: "TENANT/STEP", example: "initech/hired"},
	listHelp: help{short: "Lists the steps of a tenant, in the order of its workflow"},
	columns:  []string{"step", "name", "category", "helper exports to", "updated"},
	fields: func(s *model.Step) []field {
		exportsTo := ""
		switch {
		case s.Helper == nil:
		case len(s.Helper.Integrations) == 0:
			exportsTo = "every integration"
		default:
			exportsTo = strings.Join(s.Helper.Integrations, ", ")
		}
		return []field{
			{"step", s.ID},
			{"name", s.Name},
			{"category", s.Category},
			{"position", s.Position},
			{"helper exports to", exportsTo},
			{"updated", s.UpdatedAt},
		}
	},
}

// workflow holds all steps of a tenant, which the management API reads and replaces together.
type workflow struct {
	path  string
	tag   string
	items []model.Step
}

// workflowOf reads the steps of the tenant in TENANT/STEP, and finds the step among them. place is -1 where it is none.
func workflowOf(ctx context.Context, a *Client, arg string) (w *workflow, id string, place int, err error) {
	path, id, err := steps.split(arg)
	if err != nil {
		return nil, "", 0, err
	}
	var list api.List[model.Step]
	header, err := a.Send(ctx, http.MethodGet, path, nil, nil, &list)
	if err != nil {
		return nil, "", 0, err
	}
	w = &workflow{path: path, tag: header.Get("ETag"), items: list.Items}
	return w, id, slices.IndexFunc(w.items, func(s model.Step) bool { return s.ID == id }), nil
}

// put stores the steps, unless they have changed since they were read.
func (w *workflow) put(ctx context.Context, a *Client) error {
	unchanged := http.Header{"If-None-Match": {"*"}}
	if w.tag != "" {
		unchanged = http.Header{"If-Match": {w.tag}}
	}
	_, err := a.Send(ctx, http.MethodPut, w.path, unchanged, api.StepsInput{Items: w.items}, nil)
	return err
}

func stepShow(a *Client) *cobra.Command {
	return steps.verb(a, &cobra.Command{Use: "show", Short: "Shows a step, with its helper"},
		func(ctx context.Context, cmd *cobra.Command, _ string, args []string) error {
			return showStep(ctx, cmd, a, args[0])
		})
}

// showStep shows a step as it is stored.
func showStep(ctx context.Context, cmd *cobra.Command, a *Client, arg string) error {
	w, _, place, err := workflowOf(ctx, a, arg)
	switch {
	case err != nil:
		return err
	case place < 0:
		return steps.none(arg)
	case a.json:
		return terminal.WriteJSON(cmd.OutOrStdout(), w.items[place])
	}
	return steps.print(cmd.OutOrStdout(), &w.items[place])
}

func stepSet(a *Client) *cobra.Command {
	var name, category string
	var position int
	var helpers []string
	var all, none bool
	cmd := steps.verb(a, &cobra.Command{
		Use:   "set",
		Short: "Makes a step, or changes what the flags name of one",
		Long: `Makes a step at the end of the workflow, or at --position, or changes what the flags name of one;
all else of it stays. --helper gives the step a helper, which from then on exports a candidate to
the named integrations each time one of their job applications enters the step; --helper-to-all
exports to every integration; --no-helper removes the helper.`,
	}, func(ctx context.Context, cmd *cobra.Command, path string, args []string) error {
		if none && (all || len(helpers) > 0) || all && len(helpers) > 0 {
			return errors.New("--helper, --helper-to-all and --no-helper exclude each other: leave all but one out")
		}
		w, id, place, err := workflowOf(ctx, a, args[0])
		if err != nil {
			return err
		}
		changed := cmd.Flags().Changed
		s := model.Step{ID: id, Name: id}
		if place < 0 {
			place = len(w.items)
		} else {
			s = w.items[place]
			w.items = slices.Delete(w.items, place, place+1)
		}
		if changed("name") {
			s.Name = name
		}
		if changed("category") {
			s.Category = category
		}
		if changed("position") {
			if position < 0 || position > len(w.items) {
				return fmt.Errorf("--position must be from 0 to %d", len(w.items))
			}
			place = position
		}
		had := s.Helper != nil
		if all || len(helpers) > 0 {
			s.Helper = &model.Helper{Integrations: append([]string{}, helpers...)}
		}
		w.items = slices.Insert(w.items, place, s)
		if err := w.put(ctx, a); err != nil {
			return err
		}
		if none && had {
			if err := a.Call(ctx, http.MethodDelete, path+"/helper", nil, nil); err != nil {
				return err
			}
		}
		if a.json {
			return showStep(ctx, cmd, a, args[0])
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is set\n", terminal.Printable(args[0]))
		return nil
	})
	fl := cmd.Flags()
	fl.StringVar(&name, "name", "", "name for people (default of a new step: its id)")
	fl.StringVar(&category, "category", "", "category, such as hired")
	fl.IntVar(&position, "position", 0, "its place in the workflow, from 0 (default of a new step: the last)")
	fl.StringArrayVar(&helpers, "helper", nil, "integration that its helper exports to; repeat it for more")
	fl.BoolVar(&all, "helper-to-all", false, "its helper exports to every integration")
	fl.BoolVar(&none, "no-helper", false, "remove its helper")
	return cmd
}

func stepRemove(a *Client) *cobra.Command {
	var ask func(context.Context, *cobra.Command, string) error
	cmd := steps.verb(a, &cobra.Command{
		Use:   "remove",
		Short: "Removes a step, with its helper",
	}, func(ctx context.Context, cmd *cobra.Command, _ string, args []string) error {
		w, _, place, err := workflowOf(ctx, a, args[0])
		if err != nil {
			return err
		}
		if place < 0 {
			return steps.none(args[0])
		}
		if err := ask(ctx, cmd, args[0]); err != nil {
			return err
		}
		w.items = slices.Delete(w.items, place, place+1)
		if err := w.put(ctx, a); err != nil || a.json {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s is removed\n", terminal.Printable(args[0]))
		return nil
	})
	ask = a.asking(cmd)
	return cmd
}
