// Package database has the command `hiregate database`: it repairs the file of a SQLite database.
package database

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hiregate/hiregate/internal/cli/terminal"
	"github.com/hiregate/hiregate/internal/database"
)

// Command returns the command `hiregate database`.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "database",
		Short: "Repairs the file of a SQLite database",
		Args:  terminal.Exactly(0, "database takes a command, such as: hiregate database cut-log ADDRESS"),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SetFlagErrorFunc(terminal.FlagError)
	cmd.AddCommand(cutLogCommand())
	return cmd
}

func cutLogCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "cut-log ADDRESS",
		Short: "Cuts a damaged write-ahead log before the damage",
		Long: `Cuts the write-ahead log of a SQLite database before the first transaction that is damaged, and
then checks the whole database. What was committed after it is lost: exports that were acknowledged
among it. A copy of the log is kept beside it.

The gateway does not start on a damaged log. If you have a newer backup, restore that instead. Run
the command as the gateway's user. It changes nothing where the log is whole.`,
		Example:           `  hiregate database cut-log sqlite:///var/lib/hiregate/hiregate.db`,
		Args:              terminal.Exactly(1, "cut-log takes the address of a database: hiregate database cut-log ADDRESS"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := database.CutLog(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), done)
			return err
		},
	}
}
