package store

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/hiregate/hiregate/internal/model"
)

// Bounds of a search for a text in answers. Answers may be sealed, so each is read: there is no index of their text.
const (
	// MaxSoughtExports is how many exports SearchAnswers looks at.
	MaxSoughtExports = 10_000
	maxSoughtBytes   = 64 << 20
	maxSoughtFor     = 3 * time.Second
)

// AnswerSearch is the result of SearchAnswers.
type AnswerSearch struct {
	Exports []*model.Export // in the order of the filter
	Looked  int             // at so many exports
	Last    time.Time       // when the last of these came; zero: there were none
	Next    int64           // the cursor with which the search goes on; 0: it looked at all
}

// SearchAnswers searches exports that a filter chooses, and whose last attempt failed, for a text in what was answered to
// that, in capitals or not. It ends with a page of exports, or at its bounds.
func (db *DB) SearchAnswers(ctx context.Context, f ExportFilter, text string) (s AnswerSearch, err error) {
	most, sought := Page{Limit: f.Limit}.Size(), bytes.ToLower([]byte(text))
	f.Limit, f.Attempts = MaxPage, max(f.Attempts, 1)
	read := 0
	for began := time.Now(); ; f.Cursor = s.Next {
		page, next, err := db.ListExports(ctx, f)
		if err != nil {
			return s, err
		}
		answers, err := db.lastAnswers(ctx, page, &f)
		if err != nil {
			return s, err
		}
		for n, e := range page {
			s.Looked, s.Last = s.Looked+1, e.ReceivedAt
			found := false
			for _, answer := range answers[e.ID] {
				read += len(answer)
				found = found || bytes.Contains(bytes.ToLower(answer), sought)
			}
			if !found {
				continue
			}
			if s.Exports = append(s.Exports, e); len(s.Exports) == most {
				if s.Next = e.ID; n == len(page)-1 {
					s.Next = next
				}
				return s, nil
			}
		}
		s.Next = next
		if next == 0 || s.Looked >= MaxSoughtExports || read >= maxSoughtBytes || time.Since(began) >= maxSoughtFor {
			return s, nil
		}
	}
}

// lastAnswers reads what was answered to the last attempts of the deliveries of exports that a filter asks for, by the
// export.
func (db *DB) lastAnswers(ctx context.Context, exports []*model.Export, f *ExportFilter) (map[int64][][]byte, error) {
	ids := make([]int64, len(exports))
	for n, e := range exports {
		ids[n] = e.ID
	}
	of, err := db.ListDeliveriesOf(ctx, ids)
	if err != nil {
		return nil, err
	}
	var asked []int64
	export := map[int64]int64{} // by the delivery
	for _, deliveries := range of {
		for _, d := range deliveries {
			if d.Fault == "" || d.Attempts == 0 || f.Integration != "" && f.Integration != d.Integration ||
				model.LatestDelivery(deliveries, d.Integration) != d {
				continue
			}
			asked, export[d.ID] = append(asked, d.ID), d.ExportID
		}
	}
	answers := map[int64][][]byte{}
	for some := range slices.Chunk(asked, MaxPage) {
		attempts, err := db.lastAttempts(ctx, some)
		if err != nil {
			return nil, err
		}
		for _, a := range attempts {
			answers[export[a.DeliveryID]] = append(answers[export[a.DeliveryID]], a.Answer)
		}
	}
	return answers, nil
}
