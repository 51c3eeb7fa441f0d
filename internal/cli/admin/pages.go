package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
)

// maxPage is the largest page that the management API gives.
const maxPage = 500

// pages reads a list of the management API, page by page.
type pages struct {
	path  string
	query url.Values
	limit int  // how many to list at most
	all   bool // list all of them
}

// page asks for the page that query says.
func (a *Client) page(ctx context.Context, method, path string, query url.Values, in any) (page api.CountedList[json.RawMessage], err error) {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	err = a.Call(ctx, method, path, in, &page)
	return page, err
}

// each reads all items of a list, until do fails.
func each[T any](ctx context.Context, a *Client, path string, do func(*T) error) error {
	for query := (url.Values{"limit": {strconv.Itoa(maxPage)}}); ; {
		page, err := a.page(ctx, http.MethodGet, path, query, nil)
		if err != nil {
			return err
		}
		for _, raw := range page.Items {
			item := new(T)
			if err := json.Unmarshal(raw, item); err != nil {
				return fmt.Errorf("reading what the gateway answered: %w", err)
			}
			if err := do(item); err != nil {
				return err
			}
		}
		if page.Next == nil {
			return nil
		}
		query.Set("cursor", *page.Next)
	}
}

// flags adds what all commands that list take.
func (p *pages) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&p.limit, "limit", 50, "how many to list at most")
	cmd.Flags().BoolVar(&p.all, "all", false, "list all of them")
}

// print reads page after page; each item is printed as JSON, or handed to row.
func (p *pages) print(
	ctx context.Context, cmd *cobra.Command, a *Client, table *terminal.Table, row func(raw json.RawMessage) error,
) error {
	if p.all && cmd.Flags().Changed("limit") {
		return errors.New("--all and --limit exclude each other: leave one out")
	}
	if p.limit < 1 {
		return errors.New("--limit must be at least 1")
	}
	more, count := true, (*api.Count)(nil)
	for left := p.limit; more && (p.all || left > 0); {
		n := maxPage
		if !p.all {
			n = min(n, left)
		}
		p.query.Set("limit", strconv.Itoa(n))
		page, err := a.page(ctx, http.MethodGet, p.path, p.query, nil)
		if err != nil {
			return err
		}
		if page.Count != nil {
			count = page.Count
			p.query.Del("count")
		}
		if err := a.printItems(cmd, page.Items, row); err != nil {
			return err
		}
		left -= len(page.Items)
		if more = page.Next != nil; more {
			p.query.Set("cursor", *page.Next)
		}
	}
	if a.json {
		return nil
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if count != nil {
		atLeast := ""
		if count.More {
			atLeast = "at least "
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s%d in all\n", atLeast, count.Count)
	}
	if more {
		fmt.Fprintln(cmd.ErrOrStderr(), "There are more: --all lists them.")
	}
	return nil
}

// printItems prints each item of a page as JSON, or hands it to row.
func (a *Client) printItems(cmd *cobra.Command, items []json.RawMessage, row func(json.RawMessage) error) error {
	for _, raw := range items {
		if a.json {
			if err := terminal.WriteJSON(cmd.OutOrStdout(), raw); err != nil {
				return err
			}
		} else if err := row(raw); err != nil {
			return fmt.Errorf("reading what the gateway answered: %w", err)
		}
	}
	return nil
}
