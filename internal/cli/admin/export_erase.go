package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/model"
)

type exportEraseFlags struct {
	exportRange
	candidate string
	yes       bool
	api.EraseInput
}

func exportErase(a *Client) *cobra.Command {
	f := new(exportEraseFlags)
	cmd := &cobra.Command{
		Use:   "erase (TENANT/UUID… | --tenant TENANT [--candidate ID] [--since TIME] [--until TIME] [--undelivered])",
		Short: "Erases what exports hold of their candidate, for good",
		Long: `Erases what exports hold of their candidate: those that are named, or all of a tenant's that are
about a candidate, or were received in a range of time. The body goes, as it came and as it went
out, with the documents and what the receivers answered; that there was an export, and what became
of it, stays. It can't be undone, so it asks, or takes --yes.

What is held, in quarantine, on its way or waiting is refused, unless --cancel ends it first. What
the tenant itself keeps of a candidate, and their job applications, are deleted through the
management API.`,
		Example: `  hiregate export erase acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11 --yes
  hiregate export list --tenant acme --candidate c-1
  hiregate export erase --tenant acme --candidate c-1 --cancel --yes
  hiregate export erase --tenant acme --since 7d --until 6d --yes`,
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			switch {
			case (len(args) == 0) == (f.candidate == "" && !f.chosen()):
				return errors.New("export erase takes either exports, such as: hiregate export erase " +
					"acme/6f1c0f1e-5d0e-4a57-9f0b-0c6f3f2b7a11 --yes; or --tenant with --candidate or --since")
			case f.candidate != "" && f.tenant == "":
				return errors.New("--candidate is an id within a tenant: add --tenant")
			case !f.yes && !terminal.Attended(cmd):
				return errors.New("what is erased can't be had back: look at it with hiregate export show, or export list, and " +
					"add --yes to erase it")
			case !f.yes:
				if err := a.confirm(ctx, cmd, f.question(args)); err != nil {
					return err
				}
			}
			e := &erasing{Client: a, cmd: cmd, in: f.EraseInput,
				table: terminal.NewTable(cmd.OutOrStdout(), "export", "erased", "why not")}
			err := e.run(ctx, f, args)
			if !a.json {
				err = errors.Join(e.table.Flush(), err)
			}
			if err == nil && e.refused > 0 {
				err = fmt.Errorf("%d were not erased, since they are not finished: --cancel ends what is still to come of them",
					e.refused)
			}
			return err
		}),
	}
	fl := cmd.Flags()
	f.exportRange.add(cmd, "erase")
	fl.StringVar(&f.candidate, "candidate", "", "erase all exports about the candidate with this id")
	fl.BoolVar(&f.Cancel, "cancel", false, "end first what is held, in quarantine, on its way or waiting")
	fl.BoolVar(&f.yes, "yes", false, "erase without asking: it can't be undone")
	return cmd
}

// question asks whether to erase what the flags and arguments say.
func (f *exportEraseFlags) question(exports []string) string {
	switch {
	case f.candidate != "":
		return fmt.Sprintf("Erase all exports of tenant %s about candidate %s?", f.tenant, f.candidate)
	case len(exports) == 1:
		return fmt.Sprintf("Erase export %s?", exports[0])
	case len(exports) > 1:
		return fmt.Sprintf("Erase %d exports?", len(exports))
	}
	return fmt.Sprintf("Erase the exports of tenant %s in this range? hiregate export list shows them.", f.tenant)
}

// erasing erases one export after the other, and shows each.
type erasing struct {
	*Client
	cmd     *cobra.Command
	in      api.EraseInput
	table   *terminal.Table
	refused int
}

func (e *erasing) run(ctx context.Context, f *exportEraseFlags, exports []string) error {
	if f.chosen() {
		query := url.Values{}
		if f.candidate != "" {
			query.Set("candidate", f.candidate)
		}
		return e.eachExport(ctx, &f.exportRange, query, func(uuid string) error { return e.one(ctx, f.tenant+"/"+uuid) })
	}
	if f.candidate != "" {
		return e.candidate(ctx, f.tenant, f.candidate)
	}
	for _, arg := range exports {
		if err := e.one(ctx, arg); err != nil {
			return err
		}
	}
	return nil
}

// one erases the export that is named.
func (e *erasing) one(ctx context.Context, named string) error {
	path, name, err := exportOf(named)
	if err != nil {
		return err
	}
	tenant, uuid, _ := strings.Cut(name, "/")
	var raw json.RawMessage
	err = e.Call(ctx, http.MethodPost, path+"/erase", e.in, &raw)
	if refused := new(Refusal); errors.As(err, &refused) && refused.Status == http.StatusConflict {
		raw, err = json.Marshal(map[string]string{"id": uuid, "refused": refused.Error()})
	}
	if err != nil {
		return err
	}
	return e.show(tenant, raw)
}

// candidate erases all exports about a candidate, page by page.
func (e *erasing) candidate(ctx context.Context, tenant, id string) error {
	if err := model.ValidateTenantName(tenant); err != nil {
		return err
	}
	in := api.EraseCandidateInput{Candidate: id, EraseInput: e.in}
	none := true
	for query := (url.Values{}); ; {
		page, err := e.page(ctx, http.MethodPost, tenantPath(tenant, "erasures"), query, in)
		if err != nil {
			return err
		}
		for _, raw := range page.Items {
			none = false
			if err := e.show(tenant, raw); err != nil {
				return err
			}
		}
		switch {
		case page.Next != nil:
			query.Set("cursor", *page.Next)
		case none:
			return fmt.Errorf("nothing was erased: tenant %s has no export about a candidate %s; those that were erased "+
				"before are not found by their candidate any more", tenant, terminal.Printable(id))
		default:
			return nil
		}
	}
}

// show shows what became of an export: with --json as it came.
func (e *erasing) show(tenant string, raw json.RawMessage) error {
	var one api.Erasure
	if err := json.Unmarshal(raw, &one); err != nil {
		return fmt.Errorf("reading what the gateway answered: %w", err)
	}
	if one.Refused != "" {
		e.refused++
	}
	if e.json {
		return terminal.WriteJSON(e.cmd.OutOrStdout(), raw)
	}
	e.table.Row(tenant+"/"+one.ID, one.ErasedAt, terminal.Reason(one.Refused))
	return nil
}
