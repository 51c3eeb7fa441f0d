package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/api"
	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/erasure"
	"github.com/hiregate/hiregate/internal/model"
)

// Erase returns the command `hiregate erase`.
func Erase() *cobra.Command {
	a := new(Client)
	var tenant string
	var yes bool
	var in api.ErasePersonInput
	cmd := &cobra.Command{
		Use:   "erase --tenant TENANT (--candidate ID | --email ADDRESS)",
		Short: "Erases all that is held of a person, for good, and prints a signed receipt",
		Long: `Erases all that is held of a person, for good: the candidate, job applications with answers and
documents, and what exports hold of them, in whatever state; what is on its way ends. It prints a
receipt as JSON: what was erased where and when, and what remains and why, signed.

The gateway needs a list of erasures (the option erasures), so that a backup does not bring the
person back. By an e-mail address it reads all bodies of the tenant, which takes a while. What was
delivered is not recalled: the receipt names the receivers.`,
		Example: `  hiregate erase --tenant acme --candidate c-1 --yes > receipt.json
  hiregate erase --tenant acme --email zoe@example.com
  hiregate erase key > receipts.key
  hiregate erase verify receipt.json --key "$(cat receipts.key)"`,
		Args:         terminal.Exactly(0, "erase takes a person by --candidate or --email, with --tenant; or key, or verify"),
		SilenceUsage: true,
	}
	cmd.RunE = a.judged(interruptible(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
		switch {
		case tenant == "" || (in.Candidate == "") == (in.Email == ""):
			return errors.New("whom? name a tenant and either a candidate or an e-mail address, such as: " +
				"hiregate erase --tenant acme --candidate c-1")
		case !yes && !terminal.Attended(cmd):
			return errors.New("what is erased can't be had back: look at it with hiregate candidate dump, and add --yes to erase it")
		}
		if err := model.ValidateTenantName(tenant); err != nil {
			return err
		}
		if !yes {
			if err := a.confirm(ctx, cmd, fmt.Sprintf("Erase all that tenant %s has of %s?", tenant,
				terminal.Printable(in.Candidate+in.Email))); err != nil {
				return err
			}
		}
		var raw json.RawMessage
		if err := a.Call(ctx, http.MethodPost, tenantPath(tenant, "people", "erase"), in, &raw); err != nil {
			return err
		}
		return terminal.WriteJSON(cmd.OutOrStdout(), raw)
	}))
	fl := cmd.Flags()
	fl.StringVar(&tenant, "tenant", "", "the tenant that holds something of the person")
	fl.StringVar(&in.Candidate, "candidate", "", "the person's id as a candidate, here or in received exports")
	fl.StringVar(&in.Email, "email", "", "one of the person's e-mail addresses")
	fl.BoolVar(&yes, "yes", false, "erase without asking: it can't be undone")
	a.flags(cmd)
	a.completeFlags(cmd)
	cmd.SetFlagErrorFunc(terminal.FlagError)
	for _, below := range []*cobra.Command{eraseKey(a), eraseVerify(a)} {
		below.RunE, below.SilenceUsage = a.judged(below.RunE), true
		cmd.AddCommand(below)
	}
	return cmd
}

func eraseKey(a *Client) *cobra.Command {
	return &cobra.Command{
		Use:   "key",
		Short: "Prints the public key that receipts are checked with",
		Args:  terminal.Exactly(0, "erase key takes no argument"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			var k api.ErasureKey
			if shown, err := a.ask(ctx, cmd, http.MethodGet, "/v1/erasure-key", nil, &k); shown || err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), k.Key)
			return nil
		}),
	}
}

// maxReceipt is the largest receipt that is checked, in bytes.
const maxReceipt = 64 << 20

func eraseVerify(a *Client) *cobra.Command {
	var key string
	cmd := &cobra.Command{
		Use:   "verify RECEIPT",
		Short: "Checks a receipt of hiregate erase",
		Long: `Checks that a receipt of hiregate erase is as a gateway signed it: "-" reads standard input. The
key is that of the running gateway; with --key no gateway is asked.`,
		Args: terminal.Exactly(1, "which receipt? name its file, such as: hiregate erase verify receipt.json"),
		RunE: interruptible(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			raw, err := terminal.ReadInput(cmd.InOrStdin(), args[0], maxReceipt)
			if err != nil {
				return err
			}
			var in struct {
				Receipt   json.RawMessage
				Signature string
			}
			if err := json.Unmarshal(raw, &in); err != nil || len(in.Receipt) == 0 {
				return errors.New("this is no receipt: hiregate erase prints one")
			}
			if key == "" {
				var k api.ErasureKey
				if err := a.Call(ctx, http.MethodGet, "/v1/erasure-key", nil, &k); err != nil {
					return err
				}
				key = k.Key
			} else {
				a.asked = true // what follows is no fault of the command line
			}
			if err := erasure.Verify(in.Receipt, in.Signature, key); err != nil {
				return err
			}
			var receipt api.ErasureReceipt
			if err := json.Unmarshal(in.Receipt, &receipt); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "valid: receipt %s of %s\n", terminal.Printable(receipt.ID),
				receipt.ErasedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
			return nil
		}),
	}
	cmd.Flags().StringVar(&key, "key", "", "the public key, as hiregate erase key prints it")
	return cmd
}
