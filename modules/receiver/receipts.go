package receiver

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/hiregate/hiregate/internal/model"
	"github.com/hiregate/hiregate/internal/problem"
	"github.com/hiregate/hiregate/internal/store"
)

// receipts is the path segment between a hook's path and a receipt.
const receipts = "receipts"

// receiptOf extracts the receipt from <hook path>/receipts/<receipt>.
func receiptOf(path string) (receipt string, ok bool) {
	before, receipt, ok := cutLast(path)
	if !ok || receipt == "" {
		return "", false
	}
	_, segment, ok := cutLast(before)
	return receipt, ok && segment == receipts
}

func cutLast(path string) (before, last string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return path, "", false
	}
	return path[:i], path[i+1:], true
}

// status is the state of an export, without data of the candidate.
type status struct {
	receipt
	Quarantined bool             `json:"quarantined,omitempty"` // it breaks the schema, and waits for its release
	Deliveries  []deliveryStatus `json:"deliveries"`
	Documents   documentStatus   `json:"documents"`
}

type deliveryStatus struct {
	Integration string        `json:"integration"`
	Outcome     model.Outcome `json:"outcome"`
	Attempts    int           `json:"attempts"`
	UpdatedAt   time.Time     `json:"updatedAt"`
}

type documentStatus struct {
	Referenced int `json:"referenced"`
	Fetched    int `json:"fetched"`
	GivenUp    int `json:"givenUp"`
}

// serveReceipt answers with the status of an export, by its receipt.
func (h *Receiver) serveReceipt(w http.ResponseWriter, r *http.Request, id string) {
	unknown := problem.New(http.StatusNotFound, "there is no such receipt")
	release, ok := h.Gateway.Hold(w)
	if !ok {
		problem.Unavailable(w)
		return
	}
	defer release()
	db := h.Gateway.Runtime.Store()
	e, err := db.ExportByReceipt(r.Context(), id)
	if errors.Is(err, store.ErrNotFound) {
		unknown.Write(w)
		return
	}
	if err != nil {
		problem.Unavailable(w)
		return
	}
	if name := h.Tenant.of(r); name != e.Tenant && !(h.Tenant.Query != "" && name == "") {
		unknown.Write(w)
		return
	}
	deliveries, err := db.ListDeliveries(r.Context(), e.ID)
	if err != nil {
		problem.Unavailable(w)
		return
	}
	docs, err := db.ListDocuments(r.Context(), e.ID)
	if err != nil {
		problem.Unavailable(w)
		return
	}
	s := status{receipt: receipt{e.Receipt, hexOf(e.SHA256), e.ReceivedAt}, Quarantined: e.Quarantined,
		Deliveries: []deliveryStatus{}}
	for _, d := range model.LatestDeliveries(deliveries) {
		s.Deliveries = append(s.Deliveries, deliveryStatus{d.Integration, d.Outcome, d.Attempts, d.UpdatedAt})
	}
	s.Documents.Referenced = e.Attachments
	for _, d := range docs {
		switch d.State {
		case model.Fetched:
			s.Documents.Fetched++
		case model.GivenUp:
			s.Documents.GivenUp++
		}
	}
	answer(w, http.StatusOK, s)
}
