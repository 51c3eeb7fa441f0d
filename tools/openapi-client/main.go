// Command client lists the exports of a tenant with the client that oapi-codegen makes of openapi.json.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"client/client"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("name the address of the API, an API key and a tenant")
	}
	api, err := client.NewClientWithResponses(os.Args[1], client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+os.Args[2])
		return nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	answer, err := api.ListExportsWithResponse(context.Background(), os.Args[3], nil)
	if err != nil {
		log.Fatal(err)
	}
	if answer.JSON200 == nil {
		log.Fatalf("%s: %s", answer.Status(), answer.Body)
	}
	for _, export := range answer.JSON200.Items {
		fmt.Println(export.Id)
	}
}
