// Package tables, where a test imports it, lets the databases of storetest begin with the tables of the store: making them takes a test
// longer than most of what it is about. storetest can't do so itself, since tests of the store's own package use it.
package tables

import (
	"context"

	"github.com/hiregate/hiregate/internal/store"
	"github.com/hiregate/hiregate/internal/store/storetest"
)

func init() {
	storetest.Tables = func(address string) error {
		db, err := store.Open(context.Background(), address, store.Options{})
		if err != nil {
			return err
		}
		return db.Close()
	}
}
