package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

func exportSearch(a *Client) *cobra.Command {
	limit := 0
	cmd := &cobra.Command{
		Use:   "search TEXT [TENANT]",
		Short: "Lists exports by a text in what was answered to their last attempt, the newest first",
		Long: `Lists exports whose last attempt failed and was answered with a text, in capitals or not, the newest first. It
reads one answer after the other, which takes a second for some thousands, and says how far it is.`,
		Example: `  hiregate export search "employee number" acme --status 422
  hiregate export search "certificate has expired" --since 24h`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return errors.New(`export search takes a text, and a tenant at most, such as: hiregate export search "employee number" acme`)
			}
			return nil
		},
	}
	cmd.RunE = interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
		query := url.Values{}
		path, err := exports.listed(args[1:], query)
		if err != nil {
			return err
		}
		for _, f := range exports.filters {
			if f.flag == "uuid" {
				continue
			}
			if err := f.apply(cmd.Flags(), query, len(args) > 1); err != nil {
				return err
			}
		}
		table := terminal.NewTable(cmd.OutOrStdout(), exports.columns...)
		looked := 0
		for left := limit; left > 0; {
			query.Set("limit", strconv.Itoa(min(left, maxPage)))
			var page struct {
				api.List[json.RawMessage]
				Looked int
				Last   time.Time
			}
			if err := a.Call(ctx, http.MethodPost, strings.TrimSuffix(path, "exports")+"export-search?"+query.Encode(), api.AnswerSearchInput{Text: args[0]}, &page); err != nil {
				return err
			}
			row := func(raw json.RawMessage) error { return exports.addRow(table, raw) }
			if err := a.printItems(cmd, page.Items, row); err != nil {
				return err
			}
			left -= len(page.Items)
			if looked += page.Looked; page.Next == nil {
				break
			}
			query.Set("cursor", *page.Next)
			fmt.Fprintf(cmd.ErrOrStderr(), "looked at %d exports, back to %s\n", looked, page.Last.UTC().Format(time.RFC3339))
		}
		if a.json {
			return nil
		}
		return table.Flush()
	})
	for _, f := range exports.filters {
		if f.flag != "uuid" {
			f.add(cmd.Flags())
		}
	}
	cmd.Flags().IntVar(&limit, "limit", 50, "how many to list at most")
	return cmd
}
