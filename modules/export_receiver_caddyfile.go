package modules

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/dustin/go-humanize"

	"github.com/hiregate/hiregate/modules/app"
	"github.com/hiregate/hiregate/modules/receiver"
	"github.com/hiregate/hiregate/schemas"
)

// parseExportReceiver reads the directive. Syntax:
//
//	export_receiver {
//		tenant_from path <n> | query <name>
//		max_body    <size>
//		max_attachments <n>
//		max_values  <n>
//		max_items   <n>
//	}
func parseExportReceiver(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := new(ExportReceiver)
	head := *h.Dispenser
	head.Next()
	const example = "export_receiver takes a block: write export_receiver {, below it tenant_from path 1, below that }"
	err := app.Options(h, example, func(option string, args []string) (err error) {
		switch option {
		case "tenant_from":
			handler.TenantFrom, err = receiver.ParseTenantFrom(args)
		case "max_body":
			if handler.MaxBody, err = parseMaxBody(args); err == nil {
				err = checkMemory(handler.MaxBody, app.BodyMemory(h))
			}
		default:
			n := slices.IndexFunc(handler.numbers(), func(n number) bool { return n.option == option })
			if n < 0 {
				return fmt.Errorf("%s is unknown here: write tenant_from, max_body, max_attachments, max_values or max_items",
					option)
			}
			err = handler.numbers()[n].parse(args)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := handler.TenantFrom.Validate(); err != nil {
		return nil, head.WrapErr(err)
	}
	if err := checkMemory(cmp.Or(handler.MaxBody, receiver.DefaultMaxBody), app.BodyMemory(h)); err != nil {
		return nil, head.WrapErr(err)
	}
	return handler, nil
}

// largestMaxBody limits max_body, so that a typing error can't use all memory.
const largestMaxBody = 1 << 30

func parseMaxBody(args []string) (int64, error) {
	if size, ok := app.Spaced(args); ok {
		return 0, fmt.Errorf("max_body %s: write it without the space, `max_body %s`", strings.Join(args, " "), size)
	}
	if len(args) != 1 {
		return 0, errors.New("max_body takes one argument: write, for example, `max_body 5MiB`")
	}
	size, err := humanize.ParseBytes(args[0])
	if err != nil || size < 1 || size > largestMaxBody {
		return 0, fmt.Errorf("max_body %q: write a size from 1B to 1GiB, such as 5MiB", args[0])
	}
	return int64(size), nil
}

// checkMemory refuses a max_body that is larger than one tenant's share of the memory for bodies while no other tenant
// uses it.
func checkMemory(maxBody, bodyMemory int64) error {
	if maxBody <= bodyMemory/2 {
		return nil
	}
	const mebibyte = 1 << 20
	return fmt.Errorf("max_body is %d bytes, more than half of the body_memory of %d bytes, which is all that one "+
		"body may take: write a smaller "+
		"max_body here, or `body_memory %dMiB` into the global option hiregate", maxBody, bodyMemory,
		(2*maxBody+mebibyte-1)/mebibyte)
}

// number is an option of export_receiver whose value is a number.
type number struct {
	option         string
	value          *int // 0: it was not written
	usual, largest int
}

// numbers returns the options whose values are numbers.
func (h *ExportReceiver) numbers() []number {
	return []number{
		{"max_attachments", &h.MaxAttachments, receiver.DefaultMaxAttachments, schemas.Most.Items},
		{"max_values", &h.MaxValues, receiver.DefaultLimits.Values, schemas.Most.Values},
		{"max_items", &h.MaxItems, receiver.DefaultLimits.Items, schemas.Most.Items},
	}
}

func (n number) parse(args []string) (err error) {
	if len(args) != 1 {
		return fmt.Errorf("%[1]s takes one argument: write, for example, `%[1]s %[2]d`", n.option, n.usual)
	}
	*n.value, err = strconv.Atoi(args[0])
	if err != nil || *n.value < 1 || *n.value > n.largest {
		return fmt.Errorf("%s %q: write a number from 1 to %d, such as %d", n.option, args[0], n.largest, n.usual)
	}
	return nil
}

// complete fills in the usual value if none was written.
func (n number) complete() error {
	if *n.value == 0 {
		*n.value = n.usual
	}
	if *n.value < 0 || *n.value > n.largest {
		return fmt.Errorf("%s is %d: give a number from 1 to %d", n.option, *n.value, n.largest)
	}
	return nil
}
