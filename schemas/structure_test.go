package schemas

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/stretchr/testify/require"
)

// A structure has types and lengths, and neither values nor names that the schema does not have.
func TestStructure(t *testing.T) {
	t.Parallel()
	parts, more, err := Structure([]byte(`{"candidate":{"person":{"name":{"given":"Zoë"}},"zoe@example.com":1e400,
		"<script>":[true,null]},"x":""}`))
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, []model.BodyPart{
		{Path: "", Type: "object", Length: 2},
		{Path: "candidate", Type: "object", Length: 3},
		{Path: "candidate/(name of 8 characters)", Type: "array", Length: 2},
		{Path: "candidate/(name of 8 characters)/0", Type: "boolean", Length: 0},
		{Path: "candidate/(name of 8 characters)/1", Type: "null", Length: 0},
		{Path: "candidate/person", Type: "object", Length: 1},
		{Path: "candidate/person/name", Type: "object", Length: 1},
		{Path: "candidate/person/name/given", Type: "string", Length: 3},
		{Path: "candidate/(name of 15 characters)", Type: "number", Length: 0},
		{Path: "(name of 1 character)", Type: "string", Length: 0},
	}, parts)
}

func TestStructureIsBounded(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"[" + strings.Repeat("0,", 5000) + "0]", "[" + strings.Repeat("[0],", 5000) + "0]",
		strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	} {
		parts, more, err := Structure([]byte(body))
		require.NoError(t, err)
		require.True(t, more)
		require.Len(t, parts, MaxParts)
	}
	exact := fmt.Sprintf("[%s0]", strings.Repeat("0,", MaxParts-2))
	parts, more, err := Structure([]byte(exact))
	require.NoError(t, err)
	require.False(t, more)
	require.Len(t, parts, MaxParts)
}

func TestStructureOfNoJSON(t *testing.T) {
	t.Parallel()
	_, _, err := Structure([]byte(`{"candidate":`))
	require.Error(t, err)
}

// A property of the contract in another spelling is found, and what a sender has beside those of the contract is not looked into.
func TestMisspelled(t *testing.T) {
	t.Parallel()
	doc, err := Guard([]byte(`{"candidate":{"person":{"citizenship":["x"],"apply_date":"x","citizenShip":[]},"Profiles":[],
		"profiles":[{"education":[{"Education-Level-Codes":[]}]}],"extra":{"Person":{"Id":1}},"pronouns":"x"}}`))
	require.NoError(t, err)
	require.Equal(t, []Finding{
		{Pointer: "/candidate/Profiles", Rule: "spelled profiles", Found: "another spelling"},
		{Pointer: "/candidate/person/apply_date", Rule: "spelled applyDate", Found: "another spelling"},
		{Pointer: "/candidate/person/citizenship", Rule: "spelled citizenShip", Found: "another spelling"},
		{Pointer: "/candidate/profiles/0/education/0/Education-Level-Codes", Rule: "spelled educationLevelCodes", Found: "another spelling"},
	}, doc.Misspelled())
}
