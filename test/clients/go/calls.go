// Command calls calls every method of the official Go client and reports each call.
//
// The client is the unmodified source in SDK_SOURCES; everything else comes from the environment (see test/clients/README.md).
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/resend/resend-go/v3"
)

type outcome map[string]any

var (
	fixtures = map[string]string{}
	delivery = map[string]string{}
	called   = map[string]bool{}
	files    = map[string]string{}
)

func notify(path string, body outcome) {
	data, _ := json.Marshal(body)
	answer, err := http.Post(os.Getenv("CLIENT_PROXY")+path, "application/json", bytes.NewReader(data))
	if err != nil {
		panic(err)
	}
	answer.Body.Close()
}

// findFiles notes in which file each method of the client is.
func findFiles() {
	method := regexp.MustCompile(`(?m)^func \(\w+ \*(\w+)\) (\w+)\(`)
	paths, _ := filepath.Glob(filepath.Join(os.Getenv("SDK_SOURCES"), "*.go"))
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		for _, found := range method.FindAllStringSubmatch(string(text), -1) {
			files[found[1]+"."+found[2]] = filepath.Base(path)
		}
	}
}

// listFields lists the JSON fields of a struct that are not optional, and those of the elements of its slices.
func listFields(kind reflect.Type, prefix string) []string {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	fields := []string{}
	if kind.Kind() != reflect.Struct || kind.PkgPath() == "time" {
		return fields
	}
	for i := 0; i < kind.NumField(); i++ {
		field := kind.Field(i)
		tag := field.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if name == "" || name == "-" || strings.Contains(options, "omitempty") {
			continue
		}
		fields = append(fields, prefix+name)
		if field.Type.Kind() == reflect.Slice {
			fields = append(fields, listFields(field.Type.Elem(), prefix+name+".0.")...)
		} else {
			fields = append(fields, listFields(field.Type, prefix+name+".")...)
		}
	}
	return fields
}

// refusal marks a call that the documents say is refused.
type refusal string

// call calls one method by its name. It returns the result, or the zero value where the call fails.
func call[T any](service any, method string, args ...any) T {
	var result T
	value := reflect.ValueOf(service)
	name := value.Type().Elem().Name() + "." + method
	called[name] = true
	begin := outcome{"name": name, "file": files[name]}
	given := []reflect.Value{}
	for _, arg := range args {
		if reason, is := arg.(refusal); is {
			begin["refused"] = string(reason)
			continue
		}
		given = append(given, reflect.ValueOf(arg))
	}
	notify("/-/begin", begin)
	results := value.MethodByName(method).Call(given)
	if err, is := results[len(results)-1].Interface().(error); is {
		notify("/-/end", outcome{"error": err.Error()})
		return result
	}
	if len(results) == 1 {
		notify("/-/end", outcome{})
		return result
	}
	notify("/-/end", outcome{"reads": listFields(results[0].Type(), "")})
	return results[0].Interface().(T)
}

func message(change func(*resend.SendEmailRequest)) *resend.SendEmailRequest {
	request := &resend.SendEmailRequest{
		From:    "Acme <me@" + fixtures["domain"] + ">",
		To:      []string{"x@example.org"},
		Subject: "Hello",
		Text:    "It works.",
	}
	if change != nil {
		change(request)
	}
	return request
}

func main() {
	json.Unmarshal([]byte(os.Getenv("CLIENT_FIXTURES")), &fixtures)
	json.Unmarshal([]byte(os.Getenv("CLIENT_DELIVERY")), &delivery)
	findFiles()
	client := resend.NewClient(os.Getenv("RESEND_API_KEY"))
	ctx := context.Background()
	five := 5
	page := &resend.ListOptions{Limit: &five}
	yes := true

	emails := client.Emails
	sent := call[*resend.SendEmailResponse](emails, "Send", message(func(m *resend.SendEmailRequest) {
		m.Html = "<p>It works.</p>"
		m.Cc = []string{"c@example.org"}
		m.Bcc = []string{"b@example.org"}
		m.ReplyTo = "answers@example.com"
		m.Headers = map[string]string{"X-Order": "7"}
		m.Tags = []resend.Tag{{Name: "kind", Value: "receipt"}}
	}))
	once := &resend.SendEmailOptions{IdempotencyKey: "receipt-1"}
	call[*resend.SendEmailResponse](emails, "SendWithOptions", ctx, message(nil), once)
	call[*resend.SendEmailResponse](emails, "SendWithOptions", ctx, message(nil), once)
	withFiles := call[*resend.SendEmailResponse](emails, "Send", message(func(m *resend.SendEmailRequest) {
		m.Html = `<img src="cid:logo">`
		m.Attachments = []*resend.Attachment{
			{Filename: "bytes.txt", Content: []byte("a file"), ContentType: "text/plain"},
			{Filename: "logo.png", Content: []byte("\x89PNG"), ContentId: "logo"},
			{Filename: "inline.png", Content: []byte("\x89PNG"), InlineContentId: "inline"},
		}
	}))
	call[*resend.SendEmailResponse](emails, "Send", message(func(m *resend.SendEmailRequest) {
		m.Headers = map[string]string{"List-Unsubscribe": "<https://example.org/u>"}
	}), refusal("List-Unsubscribe is set by the server"))
	call[*resend.SendEmailResponse](emails, "Send", message(func(m *resend.SendEmailRequest) {
		m.ScheduledAt = "in 1 hour"
	}), refusal("scheduled_at of an email is an ISO 8601 time"))
	call[*resend.Email](emails, "Get", sent.Id)
	call[resend.ListEmailsResponse](emails, "List")
	call[resend.ListEmailsResponse](emails, "ListWithOptions", ctx, &resend.ListOptions{Limit: &five, After: &withFiles.Id})
	attachments := call[resend.ListEmailAttachmentsResponse](emails, "ListAttachments", withFiles.Id)
	call[resend.ListEmailAttachmentsResponse](emails, "ListAttachmentsWithOptions", ctx, withFiles.Id, page)
	call[*resend.EmailAttachment](emails, "GetAttachment", withFiles.Id, attachments.Data[0].Id)
	scheduled := call[*resend.SendEmailResponse](emails, "Send", message(func(m *resend.SendEmailRequest) {
		m.ScheduledAt = fixtures["in_an_hour"]
	}))
	call[*resend.UpdateEmailResponse](emails, "Update", &resend.UpdateEmailRequest{
		Id:          scheduled.Id,
		ScheduledAt: fixtures["in_two_hours"],
	})
	call[*resend.CancelScheduledEmailResponse](emails, "Cancel", scheduled.Id)
	call[*resend.ShareEmailResponse](emails, "Share", sent.Id, &resend.ShareEmailRequest{ExpiresIn: "2 hours"})
	batch := []*resend.SendEmailRequest{message(nil), message(nil)}
	call[*resend.BatchEmailResponse](client.Batch, "Send", batch)
	call[*resend.BatchEmailResponse](client.Batch, "SendWithOptions", ctx, batch, &resend.BatchSendEmailOptions{
		IdempotencyKey:  "batch-1",
		BatchValidation: resend.BatchValidationPermissive,
	})

	receiving, received := emails.Receiving, fixtures["received"]
	call[resend.ListReceivedEmailsResponse](receiving, "List")
	call[resend.ListReceivedEmailsResponse](receiving, "ListWithOptions", ctx, page)
	call[*resend.ReceivedEmail](receiving, "Get", received)
	cid := "cid"
	call[*resend.ReceivedEmail](receiving, "GetWithOptions", ctx, received, &resend.GetReceivedEmailParams{HtmlFormat: &cid})
	arrived := call[resend.ListEmailAttachmentsResponse](receiving, "ListAttachments", received)
	call[resend.ListEmailAttachmentsResponse](receiving, "ListAttachmentsWithOptions", ctx, received, page)
	call[*resend.EmailAttachment](receiving, "GetAttachment", received, arrived.Data[0].Id)

	key := call[resend.CreateApiKeyResponse](client.ApiKeys, "Create", &resend.CreateApiKeyRequest{
		Name:       "Sending",
		Permission: "sending_access",
	})
	call[resend.ListApiKeysResponse](client.ApiKeys, "List")
	call[resend.ListApiKeysResponse](client.ApiKeys, "ListWithOptions", ctx, page)
	call[resend.UpdateApiKeyResponse](client.ApiKeys, "Update", key.Id, &resend.UpdateApiKeyRequest{Name: "Renamed"})
	call[bool](client.ApiKeys, "Remove", key.Id)

	domain := call[resend.CreateDomainResponse](client.Domains, "Create", &resend.CreateDomainRequest{
		Name:             "go.example.com",
		Region:           "us-east-1",
		CustomReturnPath: "back",
		OpenTracking:     &yes,
	})
	call[resend.Domain](client.Domains, "Get", domain.Id)
	call[resend.Domain](client.Domains, "Update", domain.Id, &resend.UpdateDomainRequest{
		OpenTracking:  true,
		ClickTracking: true,
		Tls:           resend.Enforced,
	})
	call[bool](client.Domains, "Verify", domain.Id)
	call[resend.ListDomainsResponse](client.Domains, "List")
	call[resend.ListDomainsResponse](client.Domains, "ListWithOptions", ctx, page)
	call[bool](client.Domains, "Remove", domain.Id)
	claim := call[resend.DomainClaim](client.DomainClaims, "Create", &resend.CreateDomainClaimRequest{
		Name:   fixtures["claimable"],
		Region: "us-east-1",
	})
	call[resend.DomainClaim](client.DomainClaims, "Get", claim.DomainId)
	call[resend.DomainClaim](client.DomainClaims, "Verify", claim.DomainId)

	segment := call[resend.CreateSegmentResponse](client.Segments, "Create", &resend.CreateSegmentRequest{Name: "Readers"})
	call[resend.Segment](client.Segments, "Get", segment.Id)
	call[resend.ListSegmentsResponse](client.Segments, "List")
	call[resend.ListSegmentsResponse](client.Segments, "ListWithOptions", ctx, page)
	audience := call[resend.CreateAudienceResponse](client.Audiences, "Create", &resend.CreateAudienceRequest{Name: "Subscribers"})
	call[resend.Audience](client.Audiences, "Get", audience.Id)
	call[resend.ListAudiencesResponse](client.Audiences, "List")
	call[resend.ListAudiencesResponse](client.Audiences, "ListWithOptions", ctx, page)

	properties := client.ContactProperties
	plan := call[resend.CreateContactPropertyResponse](properties, "Create", &resend.CreateContactPropertyRequest{
		Key:           "plan",
		Type:          "string",
		FallbackValue: "free",
	})
	call[resend.ContactProperty](properties, "Get", plan.Id)
	call[resend.UpdateContactPropertyResponse](properties, "Update", &resend.UpdateContactPropertyRequest{
		Id:            plan.Id,
		FallbackValue: "basic",
	})
	call[resend.ListContactPropertiesResponse](properties, "List")
	call[resend.ListContactPropertiesResponse](properties, "ListWithOptions", ctx, page)

	topic := call[*resend.CreateTopicResponse](client.Topics, "Create", &resend.CreateTopicRequest{
		Name:                "News",
		DefaultSubscription: resend.DefaultSubscriptionOptIn,
		Description:         "Monthly",
	})
	call[*resend.Topic](client.Topics, "Get", topic.Id)
	call[*resend.UpdateTopicResponse](client.Topics, "Update", topic.Id, &resend.UpdateTopicRequest{
		Name:        "All news",
		Description: "Weekly",
	})
	call[*resend.ListTopicsResponse](client.Topics, "List", page)

	contacts := client.Contacts
	contact := call[resend.CreateContactResponse](contacts, "Create", &resend.CreateContactRequest{
		Email:      "ada@example.org",
		FirstName:  "Ada",
		Properties: map[string]any{"plan": "pro"},
		Topics:     []resend.TopicSubscriptionUpdate{{Id: topic.Id, Subscription: "opt_in"}},
	})
	member := call[resend.CreateContactResponse](contacts, "Create", &resend.CreateContactRequest{
		Email:      "bob@example.org",
		AudienceId: audience.Id,
		FirstName:  "Bob",
	})
	call[resend.Contact](contacts, "Get", &resend.GetContactOptions{Id: contact.Id})
	call[resend.Contact](contacts, "Get", &resend.GetContactOptions{Id: "ada@example.org"})
	call[resend.Contact](contacts, "Get", &resend.GetContactOptions{AudienceId: audience.Id, Id: member.Id})
	call[resend.UpdateContactResponse](contacts, "Update", &resend.UpdateContactRequest{Id: contact.Id, LastName: "L"})
	call[resend.UpdateContactResponse](contacts, "Update", &resend.UpdateContactRequest{
		Email:      "ada@example.org",
		Properties: map[string]any{"plan": "team"},
	})
	inAudience := &resend.UpdateContactRequest{Id: member.Id, AudienceId: audience.Id, LastName: "B"}
	inAudience.SetUnsubscribed(false)
	call[resend.UpdateContactResponse](contacts, "Update", inAudience)
	call[resend.ListContactsResponse](contacts, "List", &resend.ListContactsOptions{})
	call[resend.ListContactsResponse](contacts, "List", &resend.ListContactsOptions{Limit: &five, After: &member.Id})
	call[resend.ListContactsResponse](contacts, "List", &resend.ListContactsOptions{AudienceId: audience.Id})
	call[resend.ListContactsResponse](contacts, "List", &resend.ListContactsOptions{SegmentId: audience.Id})
	byId := &resend.AddContactSegmentRequest{ContactId: contact.Id, SegmentId: segment.Id}
	byEmail := &resend.AddContactSegmentRequest{Email: "ada@example.org", SegmentId: segment.Id}
	call[resend.AddContactSegmentResponse](contacts.Segments, "Add", byId)
	call[resend.ListContactSegmentsResponse](contacts.Segments, "List", &resend.ListContactSegmentsRequest{ContactId: contact.Id})
	call[resend.ListContactSegmentsResponse](
		contacts.Segments, "ListWithOptions", ctx, &resend.ListContactSegmentsRequest{Email: "ada@example.org"}, page,
	)
	call[resend.RemoveContactSegmentResponse](contacts.Segments, "Remove", &resend.RemoveContactSegmentRequest{
		ContactId: contact.Id,
		SegmentId: segment.Id,
	})
	call[resend.AddContactSegmentResponse](contacts.Segments, "Add", byEmail)
	call[resend.UpdateContactTopicsResponse](contacts.Topics, "Update", &resend.UpdateContactTopicsRequest{
		Id:     contact.Id,
		Topics: []resend.TopicSubscriptionUpdate{{Id: topic.Id, Subscription: "opt_out"}},
	})
	call[resend.UpdateContactTopicsResponse](contacts.Topics, "Update", &resend.UpdateContactTopicsRequest{
		Email:  "ada@example.org",
		Topics: []resend.TopicSubscriptionUpdate{{Id: topic.Id, Subscription: "opt_in"}},
	})
	call[resend.ListContactTopicsResponse](contacts.Topics, "List", contact.Id)
	call[resend.ListContactTopicsResponse](contacts.Topics, "ListWithOptions", ctx, "ada@example.org", page)
	imported := call[resend.CreateContactImportResponse](contacts.Imports, "Create", &resend.CreateContactImportRequest{
		File:       []byte("Email,First Name,Plan\nsteve@example.org,Steve,pro\n"),
		Filename:   "contacts.csv",
		OnConflict: "upsert",
		ColumnMap: map[string]any{
			"email":      "Email",
			"first_name": "First Name",
			"properties": map[string]any{"plan": map[string]any{"column": "Plan", "type": "string"}},
		},
		Segments: []resend.ContactImportSegment{{Id: segment.Id}},
		Topics:   []resend.TopicSubscriptionUpdate{{Id: topic.Id, Subscription: "opt_in"}},
	})
	call[resend.ContactImport](contacts.Imports, "Get", imported.Id)
	call[resend.ListContactImportsResponse](contacts.Imports, "List", &resend.ListContactImportsOptions{Limit: &five})

	draft := func(name string) *resend.CreateBroadcastRequest {
		return &resend.CreateBroadcastRequest{
			From:    "News <news@" + fixtures["domain"] + ">",
			Subject: "Hello",
			Html:    "<p>Hello {{{FIRST_NAME|friend}}}</p>",
			Text:    "Hello",
			ReplyTo: []string{"foo@example.org", "bar@example.org"},
			Name:    name,
		}
	}
	toAudience := draft("First")
	toAudience.AudienceId = audience.Id
	first := call[resend.CreateBroadcastResponse](client.Broadcasts, "Create", toAudience)
	call[resend.UpdateBroadcastResponse](client.Broadcasts, "Update", &resend.UpdateBroadcastRequest{
		BroadcastId: first.Id,
		Html:        "<p>Updated</p>",
		Name:        "Renamed",
	})
	call[resend.Broadcast](client.Broadcasts, "Get", first.Id)
	call[resend.SendBroadcastResponse](client.Broadcasts, "Send", &resend.SendBroadcastRequest{BroadcastId: first.Id})
	toSegment := draft("Second")
	toSegment.SegmentId = segment.Id
	second := call[resend.CreateBroadcastResponse](client.Broadcasts, "Create", toSegment)
	call[resend.SendBroadcastResponse](client.Broadcasts, "Send", &resend.SendBroadcastRequest{
		BroadcastId: second.Id,
		ScheduledAt: "in 2 hours",
	})
	call[resend.CancelBroadcastResponse](client.Broadcasts, "Cancel", second.Id)
	third := call[resend.CreateBroadcastResponse](client.Broadcasts, "Create", toSegment)
	call[resend.RemoveBroadcastResponse](client.Broadcasts, "Remove", third.Id)
	call[resend.ListBroadcastsResponse](client.Broadcasts, "List")
	call[resend.ListBroadcastsResponse](client.Broadcasts, "ListWithOptions", ctx, page)

	templates := client.Templates
	template := call[*resend.CreateTemplateResponse](templates, "Create", &resend.CreateTemplateRequest{
		Name:    "welcome",
		From:    "me@" + fixtures["domain"],
		Subject: "Welcome, {{{NAME}}}",
		Html:    "<strong>Hey, {{{NAME}}}, you are {{{AGE}}}.</strong>",
		ReplyTo: []string{"answers@example.com"},
		Variables: []*resend.TemplateVariable{
			{Key: "NAME", Type: resend.VariableTypeString, FallbackValue: "user"},
			{Key: "AGE", Type: resend.VariableTypeNumber, FallbackValue: 25},
		},
	})
	call[*resend.PublishTemplateResponse](templates, "Publish", template.Id)
	call[*resend.Template](templates, "Get", template.Id)
	call[*resend.UpdateTemplateResponse](templates, "Update", template.Id, &resend.UpdateTemplateRequest{
		Name: "renamed",
		Html: "<strong>Hey, {{{NAME}}}.</strong>",
	})
	call[*resend.ListTemplatesResponse](templates, "List", page)
	copied := call[*resend.DuplicateTemplateResponse](templates, "Duplicate", template.Id)
	call[*resend.SendEmailResponse](emails, "Send", message(func(m *resend.SendEmailRequest) {
		m.Text = ""
		m.Template = &resend.EmailTemplate{Id: template.Id, Variables: map[string]any{"NAME": "Ada", "AGE": 7}}
	}))
	call[*resend.RemoveTemplateResponse](templates, "Remove", copied.Id)

	event := call[resend.CreateEventResponse](client.Events, "Create", &resend.CreateEventRequest{
		Name:   "user.created",
		Schema: map[string]string{"plan": "string", "is_new": "boolean"},
	})
	call[resend.Event](client.Events, "Get", event.Id)
	call[resend.Event](client.Events, "Get", "user.created")
	call[resend.UpdateEventResponse](client.Events, "Update", "user.created", &resend.UpdateEventRequest{
		Schema: map[string]string{"plan": "string"},
	})
	call[resend.ListEventsResponse](client.Events, "List")
	call[resend.ListEventsResponse](client.Events, "ListWithOptions", ctx, page)
	automations := client.Automations
	automation := call[resend.CreateAutomationResponse](automations, "Create", &resend.CreateAutomationRequest{
		Name:   "Welcome",
		Status: resend.AutomationStatusEnabled,
		Steps: []resend.AutomationStep{
			{Key: "start", Type: resend.AutomationStepTypeTrigger, Config: map[string]any{"event_name": "user.created"}},
			{Key: "wait", Type: resend.AutomationStepTypeDelay, Config: map[string]any{"duration": "30 minutes"}},
			{Key: "send", Type: resend.AutomationStepTypeSendEmail, Config: map[string]any{"template": map[string]any{"id": template.Id}}},
		},
		Connections: []resend.AutomationConnection{{From: "start", To: "wait"}, {From: "wait", To: "send"}},
	})
	call[resend.SendEventResponse](client.Events, "Send", &resend.SendEventRequest{
		Event:     "user.created",
		ContactId: contact.Id,
		Payload:   map[string]any{"plan": "pro"},
	})
	call[resend.SendEventResponse](client.Events, "Send", &resend.SendEventRequest{Event: "user.created", Email: "ada@example.org"})
	call[resend.Automation](automations, "Get", automation.Id)
	runs := call[resend.ListAutomationRunsResponse](automations, "ListRuns", automation.Id)
	call[resend.ListAutomationRunsResponse](automations, "ListRunsWithContext", ctx, automation.Id, &resend.ListAutomationRunsOptions{
		Status: []resend.AutomationRunStatus{resend.AutomationRunStatusRunning},
		Limit:  &five,
	})
	call[resend.AutomationRun](automations, "GetRun", automation.Id, runs.Data[0].Id)
	call[resend.UpdateAutomationResponse](automations, "Update", automation.Id, &resend.UpdateAutomationRequest{
		Name:   "Renamed",
		Status: resend.AutomationStatusDisabled,
	})
	call[resend.ListAutomationsResponse](automations, "List")
	disabled := resend.AutomationStatusDisabled
	call[resend.ListAutomationsResponse](automations, "ListWithOptions", ctx, &resend.ListAutomationsOptions{
		Status: &disabled,
		Limit:  &five,
	})
	twin := call[resend.DuplicateAutomationResponse](automations, "Duplicate", automation.Id)
	call[resend.StopAutomationResponse](automations, "Stop", automation.Id)
	call[resend.DeleteAutomationResponse](automations, "Remove", twin.Id)
	call[resend.DeleteAutomationResponse](automations, "Remove", automation.Id)
	call[resend.DeleteEventResponse](client.Events, "Remove", event.Id)

	suppressions := client.Suppressions
	call[resend.AddSuppressionResponse](suppressions, "Add", &resend.AddSuppressionRequest{Email: "blocked@example.org"})
	call[resend.Suppression](suppressions, "Get", "blocked@example.org")
	call[resend.ListSuppressionsResponse](suppressions, "List", &resend.ListSuppressionsOptions{
		Origin: resend.SuppressionOriginManual,
		Limit:  &five,
	})
	added := call[resend.BatchAddSuppressionsResponse](suppressions.Batch, "Add", &resend.BatchAddSuppressionsRequest{
		Emails: []string{"one@example.org", "two@example.org"},
	})
	call[resend.BatchRemoveSuppressionsResponse](suppressions.Batch, "Remove", &resend.BatchRemoveSuppressionsRequest{
		Ids: []string{added.Data[0].Id, added.Data[1].Id},
	})
	call[resend.RemoveSuppressionResponse](suppressions, "Remove", "blocked@example.org")

	endpoint, enabled := fixtures["endpoint"], "enabled"
	hook := call[*resend.CreateWebhookResponse](client.Webhooks, "Create", &resend.CreateWebhookRequest{
		Endpoint: endpoint,
		Events:   []string{resend.EventEmailSent, resend.EventEmailBounced},
	})
	call[*resend.Webhook](client.Webhooks, "Get", hook.Id)
	call[*resend.UpdateWebhookResponse](client.Webhooks, "Update", hook.Id, &resend.UpdateWebhookRequest{
		Endpoint: &endpoint,
		Events:   []string{resend.EventEmailSent},
		Status:   &enabled,
	})
	call[*resend.ListWebhooksResponse](client.Webhooks, "List")
	call[*resend.ListWebhooksResponse](client.Webhooks, "ListWithOptions", ctx, page)
	call[*resend.DeleteWebhookResponse](client.Webhooks, "Remove", hook.Id)
	call[any](client.Webhooks, "Verify", &resend.VerifyWebhookOptions{
		Payload:       delivery["payload"],
		Headers:       resend.WebhookHeaders{Id: delivery["id"], Timestamp: delivery["timestamp"], Signature: delivery["signature"]},
		WebhookSecret: delivery["secret"],
	})

	logs := call[resend.ListLogsResponse](client.Logs, "List")
	call[resend.ListLogsResponse](client.Logs, "ListWithOptions", ctx, page)
	call[resend.Log](client.Logs, "Get", logs.Data[0].Id)
	grants := call[resend.ListOAuthGrantsResponse](client.OAuthGrants, "List")
	call[resend.ListOAuthGrantsResponse](client.OAuthGrants, "ListWithOptions", ctx, page)
	call[resend.RevokeOAuthGrantResponse](client.OAuthGrants, "Revoke", grants.Data[0].Id)

	call[resend.RemoveContactResponse](contacts, "Remove", &resend.RemoveContactOptions{Id: contact.Id})
	call[resend.RemoveContactResponse](contacts, "Remove", &resend.RemoveContactOptions{AudienceId: audience.Id, Id: member.Id})
	call[resend.RemoveContactPropertyResponse](properties, "Remove", plan.Id)
	call[*resend.RemoveTopicResponse](client.Topics, "Remove", topic.Id)
	call[resend.RemoveAudienceResponse](client.Audiences, "Remove", audience.Id)
	call[resend.RemoveSegmentResponse](client.Segments, "Remove", segment.Id)

	reportUncalled(
		emails, emails.Receiving, client.Batch, client.ApiKeys, client.Domains, client.DomainClaims, client.Segments,
		client.Audiences, contacts, contacts.Segments, contacts.Topics, contacts.Imports, properties, client.Broadcasts,
		templates, client.Topics, client.Webhooks, client.Logs, automations, client.Events, client.OAuthGrants,
		suppressions, suppressions.Batch,
	)
	reportUnknownServices(*client)
}

// reportUncalled reports the methods that main does not call: a new version of the client has to be read then. A method WithContext
// makes the same request as the one without.
func reportUncalled(services ...any) {
	for _, service := range services {
		kind := reflect.TypeOf(service)
		for i := 0; i < kind.NumMethod(); i++ {
			name := kind.Elem().Name() + "." + kind.Method(i).Name
			if !called[name] && !strings.HasSuffix(name, "WithContext") {
				notify("/-/begin", outcome{"name": name})
				notify("/-/end", outcome{"error": "the script does not call this method"})
			}
		}
	}
}

// reportUnknownServices reports a service of the client of which no method was called.
func reportUnknownServices(client resend.Client) {
	value := reflect.ValueOf(client)
	for i := 0; i < value.NumField(); i++ {
		kind := value.Field(i)
		if kind.Kind() == reflect.Interface {
			kind = kind.Elem()
		}
		if kind.Kind() != reflect.Pointer || !strings.HasSuffix(kind.Type().Elem().Name(), "SvcImpl") {
			continue
		}
		service, known := kind.Type().Elem().Name()+".", false
		for name := range called {
			known = known || strings.HasPrefix(name, service)
		}
		if !known {
			notify("/-/begin", outcome{"name": service})
			notify("/-/end", outcome{"error": "the script calls no method of this service"})
		}
	}
}
