package takeout

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// partsOfAll is how many lists are taken out.
const partsOfAll = 4

// Place is where a takeout goes on: after a page of one of its lists.
type Place struct {
	Began   time.Time `json:"began"`
	Part    int       `json:"part"`    // which list
	After   string    `json:"after"`   // its cursor
	Entries int       `json:"entries"` // those with records before it
	Counts
}

func (p Place) String() string {
	raw, _ := json.Marshal(p) // it has text and numbers alone
	return base64.RawURLEncoding.EncodeToString(raw)
}

// ParsePlace reads the place that a Progress names.
func ParsePlace(written string) (*Place, error) {
	p := new(Place)
	raw, err := base64.RawURLEncoding.DecodeString(written)
	if err == nil {
		err = json.Unmarshal(raw, p, json.RejectUnknownMembers(true))
	}
	if err == nil && p.Part == partsOfAll-1 && p.After != "" { // of job applications it is a position
		_, err = strconv.ParseInt(p.After, 10, 64)
	}
	if err != nil || p.Part < 0 || p.Part >= partsOfAll || strings.ContainsRune(p.After, 0) {
		return nil, errors.New("write what the last " + progressBegin + " entry of the archive names")
	}
	return p, nil
}
