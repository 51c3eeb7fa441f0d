package model_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hiregate/hiregate/internal/model"
)

func TestSharedURLs(t *testing.T) {
	t.Parallel()
	tenant := func(name string, integrations ...string) *model.Tenant {
		made := &model.Tenant{Name: name}
		for n := 0; n < len(integrations); n += 2 {
			made.Integrations = append(made.Integrations, model.Integration{Name: integrations[n], URL: integrations[n+1],
				Damaged: integrations[n+1] == ""})
		}
		return made
	}
	require.Empty(t, model.SharedURLs(slices.Values([]*model.Tenant{tenant("a", "x", "https://h/1", "y", "https://h/2"),
		tenant("b", "x", "https://h/3", "y", ""), tenant("c", "x", "")})))
	require.Equal(t, [][]model.Place{{{"a", "x"}, {"a", "z"}, {"c", "x"}}, {{"a", "y"}, {"b", "x"}}},
		model.SharedURLs(slices.Values([]*model.Tenant{
			tenant("a", "x", "https://h/1", "y", "https://h/2", "z", "https://h/1"), tenant("b", "x", "https://h/2"),
			tenant("c", "x", "https://h/1")})))
}
