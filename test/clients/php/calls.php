<?php

/*
 * Calls every method of the official PHP client and reports each call. The client is the unmodified source in SDK_SOURCES; everything
 * else comes from the environment (see test/clients/README.md). Guzzle comes from Debian (php-guzzlehttp-guzzle).
 */

declare(strict_types=1);

require '/usr/share/php/GuzzleHttp/autoload.php';

define('SOURCES', realpath(getenv('SDK_SOURCES')));
spl_autoload_register(function (string $class): void {
    $file = SOURCES . '/src/' . str_replace('\\', '/', substr($class, strlen('Resend\\'))) . '.php';
    if (str_starts_with($class, 'Resend\\') && is_file($file)) {
        require $file;
    }
});
require SOURCES . '/src/Resend.php';

$fixtures = json_decode(getenv('CLIENT_FIXTURES'), true);
$delivery = json_decode(getenv('CLIENT_DELIVERY'), true);
$called = [];

function notify(string $path, array $body): void
{
    $http = ['method' => 'POST', 'header' => 'content-type: application/json', 'content' => json_encode($body)];
    file_get_contents(getenv('CLIENT_PROXY') . $path, false, stream_context_create(['http' => $http]));
}

/** Calls one method of a service; returns its result, or null where the call fails. */
function call(object $service, string $method, array $arguments, array $reads = [], ?string $refused = null): mixed
{
    global $called;
    $implementation = new ReflectionMethod($service, $method);
    $name = str_replace(['Resend\\Service\\', '\\'], ['', '.'], $service::class) . '.' . $method;
    $called[$name] = true;
    $begin = ['name' => $name, 'file' => substr($implementation->getFileName(), strlen(SOURCES) + 1)];
    notify('/-/begin', $refused === null ? $begin : [...$begin, 'refused' => $refused]);
    try {
        $result = $service->$method(...$arguments);
    } catch (Throwable $error) {
        notify('/-/end', ['error' => $error::class . ': ' . $error->getMessage()]);
        return null;
    }
    notify('/-/end', ['reads' => $reads]);
    return $result;
}

function message(array $more = []): array
{
    global $fixtures;
    $from = "Acme <me@{$fixtures['domain']}>";
    return [...['from' => $from, 'to' => ['x@example.org'], 'subject' => 'Hello', 'text' => 'It works.'], ...$more];
}

// The client promises no fields: these are the ones that its documentation reads.
const ID = ['id'];
const DELETED = ['id', 'deleted'];
const PAGE = ['object', 'has_more', 'data'];

$resend = Resend::client(getenv('RESEND_API_KEY'));
$emails = $resend->emails;
$sent = call($emails, 'send', [message([
    'html' => '<p>It works.</p>',
    'cc' => 'c@example.org',
    'bcc' => ['b@example.org'],
    'reply_to' => 'answers@example.com',
    'headers' => ['X-Order' => '7'],
    'tags' => [['name' => 'kind', 'value' => 'receipt']],
])], ID);
call($emails, 'create', [message(), ['idempotency_key' => 'receipt-1']], ID);
call($emails, 'create', [message(), ['idempotency_key' => 'receipt-1']], ID);
// A DTO of PHP writes null for what was not given.
call($emails, 'send', [message(['cc' => null, 'bcc' => null, 'reply_to' => null, 'html' => null, 'tags' => null])], ID);
$withFiles = call($emails, 'send', [message([
    'html' => '<img src="cid:logo">',
    'attachments' => [
        ['filename' => 'base64.txt', 'content' => base64_encode('a file'), 'content_type' => 'text/plain'],
        ['filename' => 'logo.png', 'content' => base64_encode("\x89PNG"), 'content_id' => 'logo'],
        ['filename' => 'bytes.txt', 'content' => array_values(unpack('C*', 'a file'))],
    ],
])], ID);
call($emails, 'send', [message(['headers' => ['List-Unsubscribe' => '<https://example.org/u>']])], [], 'List-Unsubscribe is set by the server');
call($emails, 'send', [message(['scheduled_at' => 'in 1 hour'])], [], 'scheduled_at of an email is an ISO 8601 time');
call($emails, 'get', [$sent->id], ['object', 'id', 'to', 'from', 'created_at', 'subject', 'html', 'text', 'last_event']);
call($emails, 'list', [], PAGE);
call($emails, 'list', [['limit' => 2, 'after' => $withFiles->id]], PAGE);
$files = call($emails->attachments, 'list', [$withFiles->id], PAGE);
call($emails->attachments, 'list', [$withFiles->id, ['limit' => 1]], PAGE);
call($emails->attachments, 'get', [$withFiles->id, $files->data[0]->id], ['id', 'filename', 'content_type', 'download_url', 'expires_at']);
$scheduled = call($emails, 'send', [message(['scheduled_at' => $fixtures['in_an_hour']])], ID);
call($emails, 'update', [$scheduled->id, ['scheduled_at' => $fixtures['in_two_hours']]], ID);
call($emails, 'cancel', [$scheduled->id], ID);
call($emails, 'share', [$sent->id, ['expires_in' => '2 hours']], ['object', 'id', 'url']);
call($emails, 'share', [$sent->id], ['object', 'id', 'url']);
call($resend->batch, 'send', [[message(), message()]], ['data']);
call($resend->batch, 'create', [[message(), message()], ['idempotency_key' => 'batch-1']], ['data']);

$receiving = $emails->receiving;
$received = $fixtures['received'];
call($receiving, 'list', [['limit' => 1]], PAGE);
call($receiving, 'get', [$received], ['object', 'id', 'to', 'from', 'created_at', 'subject', 'html', 'text', 'headers']);
$arrived = call($receiving->attachments, 'list', [$received], PAGE);
call($receiving->attachments, 'get', [$received, $arrived->data[0]->id], ['id', 'filename', 'content_type', 'download_url']);

$key = call($resend->apiKeys, 'create', [['name' => 'Sending', 'permission' => 'sending_access']], ['id', 'token']);
call($resend->apiKeys, 'list', [], PAGE);
call($resend->apiKeys, 'update', [$key->id, ['name' => 'Renamed']], ID);
call($resend->apiKeys, 'remove', [$key->id]);

$domains = $resend->domains;
$domain = call($domains, 'create', [['name' => 'php.example.com', 'region' => 'us-east-1']], ['id', 'name', 'status', 'records', 'region']);
call($domains, 'get', [$domain->id], ['object', 'id', 'name', 'status', 'records', 'region', 'created_at']);
call($domains, 'update', [$domain->id, ['open_tracking' => true, 'click_tracking' => true]], ID);
call($domains, 'verify', [$domain->id], ID);
call($domains, 'list', [], PAGE);
call($domains, 'remove', [$domain->id], DELETED);
$claim = call($domains->claims, 'create', [['name' => $fixtures['claimable'], 'region' => 'us-east-1']], ['id', 'status', 'record', 'domain_id']);
call($domains->claims, 'get', [$claim?->domain_id ?? $domain->id], ['id', 'status']);
call($domains->claims, 'verify', [$claim?->domain_id ?? $domain->id], ['id', 'status']);

$segment = call($resend->segments, 'create', [['name' => 'Readers']], ['object', 'id', 'name']);
call($resend->segments, 'get', [$segment->id], ['object', 'id', 'name', 'created_at']);
call($resend->segments, 'list', [['limit' => 5]], PAGE);
$audience = call($resend->audiences, 'create', [['name' => 'Subscribers']], ['object', 'id', 'name']);
call($resend->audiences, 'get', [$audience->id], ['object', 'id', 'name', 'created_at']);
call($resend->audiences, 'list', [], PAGE);

$properties = $resend->contactProperties;
$plan = call($properties, 'create', [['key' => 'plan', 'type' => 'string', 'fallback_value' => 'free']], ['object', 'id']);
call($properties, 'get', [$plan->id], ['object', 'id', 'key', 'type', 'fallback_value', 'created_at']);
call($properties, 'update', [$plan->id, ['fallback_value' => 'basic']], ['object', 'id']);
call($properties, 'list', [['limit' => 5]], PAGE);

$topics = $resend->topics;
$topic = call($topics, 'create', [['name' => 'News', 'default_subscription' => 'opt_in']], ID);
call($topics, 'get', [$topic->id], ['id', 'name', 'default_subscription', 'created_at']);
call($topics, 'update', [$topic->id, ['name' => 'All news', 'description' => 'Weekly']], ID);
call($topics, 'list', [['limit' => 5]], PAGE);

$contacts = $resend->contacts;
$contact = call($contacts, 'create', [[
    'email' => 'ada@example.org',
    'first_name' => 'Ada',
    'unsubscribed' => false,
    'properties' => ['plan' => 'pro'],
]], ['object', 'id']);
$fields = ['object', 'id', 'email', 'first_name', 'last_name', 'unsubscribed', 'created_at'];
call($contacts, 'get', [$contact->id], $fields);
call($contacts, 'get', ['ada@example.org'], $fields);
call($contacts, 'update', [$contact->id, ['last_name' => 'L']], ID);
call($contacts, 'update', ['ada@example.org', ['properties' => ['plan' => 'team']]], ID);
call($contacts, 'list', [], ['object', 'data']);
call($contacts->segments, 'add', [$contact->id, $segment->id]);
call($contacts, 'list', [['segment_id' => $segment->id, 'limit' => 5]], PAGE);
call($contacts->segments, 'list', [$contact->id], PAGE);
call($contacts->segments, 'remove', [$contact->id, $segment->id], ['deleted']);
call($contacts->segments, 'add', ['ada@example.org', $segment->id]);
call($contacts->topics, 'update', [$contact->id, ['topics' => [['id' => $topic->id, 'subscription' => 'opt_out']]]]);
call($contacts->topics, 'get', [$contact->id], PAGE);
$csv = tempnam(sys_get_temp_dir(), 'contacts');
file_put_contents($csv, "Email,First Name,Plan\nsteve@example.org,Steve,pro\n");
$imported = call($contacts->imports, 'create', [[
    'file' => fopen($csv, 'r'),
    'column_map' => ['email' => 'Email', 'first_name' => 'First Name'],
    'on_conflict' => 'upsert',
    'segments' => [['id' => $segment->id]],
]], ['object', 'id']);
unlink($csv);
call($contacts->imports, 'get', [$imported->id], ['object', 'id', 'status', 'counts']);
call($contacts->imports, 'list', [['limit' => 5]], PAGE);

$broadcasts = $resend->broadcasts;
$draft = [
    'from' => "News <news@{$fixtures['domain']}>",
    'subject' => 'Hello',
    'html' => '<p>Hello {{{FIRST_NAME|friend}}}</p>',
    'text' => 'Hello',
    'reply_to' => ['foo@example.org', 'bar@example.org'],
    'name' => 'First',
];
$first = call($broadcasts, 'create', [[...$draft, 'audience_id' => $audience->id]], ID);
call($broadcasts, 'update', [$first->id, ['html' => '<p>Updated</p>', 'name' => 'Renamed']], ID);
call($broadcasts, 'get', [$first->id], ['object', 'id', 'name', 'segment_id', 'from', 'subject', 'status', 'created_at']);
call($broadcasts, 'send', [$first->id, []], ID);
$second = call($broadcasts, 'create', [[...$draft, 'segment_id' => $segment->id]], ID);
call($broadcasts, 'send', [$second->id, ['scheduled_at' => 'in 2 hours']], ID);
call($broadcasts, 'cancel', [$second->id], ID);
$third = call($broadcasts, 'create', [[...$draft, 'segment_id' => $segment->id]], ID);
call($broadcasts, 'remove', [$third->id], DELETED);
call($broadcasts, 'list', [['limit' => 3, 'after' => $second->id]], PAGE);

$templates = $resend->templates;
$template = call($templates, 'create', [[
    'name' => 'welcome',
    'subject' => 'Welcome, {{{NAME}}}',
    'from' => "me@{$fixtures['domain']}",
    'html' => '<strong>Hey, {{{NAME}}}, you are {{{AGE}}}.</strong>',
    'variables' => [
        ['key' => 'NAME', 'type' => 'string', 'fallback_value' => 'user'],
        ['key' => 'AGE', 'type' => 'number', 'fallback_value' => 25],
    ],
]], ID);
call($templates, 'publish', [$template->id], ID);
call($templates, 'get', [$template->id], ['object', 'id', 'name', 'html', 'variables', 'status']);
call($templates, 'update', [$template->id, ['name' => 'renamed']], ID);
call($templates, 'list', [['limit' => 10]], PAGE);
$copy = call($templates, 'duplicate', [$template->id], ID);
call($emails, 'send', [['to' => 'x@example.org', 'template' => ['id' => $template->id, 'variables' => ['NAME' => 'Ada', 'AGE' => 7]]]], ID);
call($templates, 'remove', [$copy->id], DELETED);

$events = $resend->events;
$event = call($events, 'create', [['name' => 'user.created', 'schema' => ['plan' => 'string', 'is_new' => 'boolean']]], ID);
call($events, 'get', [$event->id], ['object', 'id', 'name', 'schema']);
call($events, 'get', ['user.created'], ['object', 'id', 'name', 'schema']);
call($events, 'update', ['user.created', ['schema' => ['plan' => 'string']]], ID);
call($events, 'list', [['limit' => 5]], PAGE);
$automations = $resend->automations;
$automation = call($automations, 'create', [[
    'name' => 'Welcome',
    'status' => 'enabled',
    'steps' => [
        ['key' => 'start', 'type' => 'trigger', 'config' => ['event_name' => 'user.created']],
        ['key' => 'wait', 'type' => 'delay', 'config' => ['duration' => '30 minutes']],
        ['key' => 'send', 'type' => 'send_email', 'config' => ['template' => ['id' => $template->id]]],
    ],
    'connections' => [['from' => 'start', 'to' => 'wait'], ['from' => 'wait', 'to' => 'send']],
]], ID);
call($events, 'send', [['event' => 'user.created', 'contact_id' => $contact->id, 'payload' => ['plan' => 'pro']]], ['event']);
call($events, 'send', [['event' => 'user.created', 'email' => 'ada@example.org']], ['event']);
call($automations, 'get', [$automation->id], ['id', 'name', 'status', 'steps', 'connections']);
$runs = call($automations->runs, 'list', [$automation->id], PAGE);
call($automations->runs, 'list', [$automation->id, ['status' => 'running', 'limit' => 5]], PAGE);
call($automations->runs, 'get', [$automation->id, $runs->data[0]->id], ['id', 'status', 'steps']);
call($automations, 'update', [$automation->id, ['name' => 'Renamed', 'status' => 'disabled']], ID);
call($automations, 'list', [['status' => 'disabled', 'limit' => 10]], PAGE);
$twin = call($automations, 'duplicate', [$automation->id], ID);
call($automations, 'stop', [$automation->id], ['id', 'status']);
call($automations, 'remove', [$twin->id], DELETED);
call($automations, 'remove', [$automation->id], DELETED);
call($events, 'remove', [$event->id], DELETED);

$suppressions = $resend->suppressions;
call($suppressions, 'add', [['email' => 'blocked@example.org']], ID);
call($suppressions, 'get', ['blocked@example.org'], ['id', 'email', 'origin', 'created_at']);
call($suppressions, 'list', [['origin' => 'manual', 'limit' => 10]], PAGE);
$batch = call($suppressions->batch, 'add', [['emails' => ['one@example.org', 'two@example.org']]], ['data']);
call($suppressions->batch, 'remove', [['ids' => array_map(fn (object $entry): string => $entry->id, $batch->data)]], ['data']);
call($suppressions, 'remove', ['blocked@example.org'], DELETED);

$webhooks = $resend->webhooks;
$endpoint = $fixtures['endpoint'];
$hook = call($webhooks, 'create', [['endpoint' => $endpoint, 'events' => ['email.sent', 'email.bounced']]], ['object', 'id', 'signing_secret']);
call($webhooks, 'get', [$hook->id], ['object', 'id', 'endpoint', 'events', 'status', 'created_at']);
call($webhooks, 'update', [$hook->id, ['endpoint' => $endpoint, 'events' => ['email.sent'], 'status' => 'enabled']], ['object', 'id']);
call($webhooks, 'list', [['limit' => 5]], PAGE);
call($webhooks, 'remove', [$hook->id], DELETED);
$headers = [];
foreach (['id', 'timestamp', 'signature'] as $name) {
    $headers["svix-$name"] = $delivery[$name];
}
call($webhooks, 'verify', [$delivery['payload'], $headers, $delivery['secret']]);

$logs = call($resend->logs, 'list', [['limit' => 5]], PAGE);
call($resend->logs, 'get', [$logs->data[0]->id], ['object', 'id', 'endpoint', 'method', 'response_status', 'created_at']);

call($contacts, 'remove', [$contact->id], ['contact', 'deleted']);
call($properties, 'remove', [$plan->id], DELETED);
call($topics, 'remove', [$topic->id], DELETED);
call($resend->audiences, 'remove', [$audience->id], DELETED);
call($resend->segments, 'remove', [$segment->id], DELETED);

// Reports what no line above calls: a new version of the client has to be read then.
foreach (new RecursiveIteratorIterator(new RecursiveDirectoryIterator(SOURCES . '/src/Service')) as $file) {
    $class = str_replace('/', '\\', substr((string) $file, strlen(SOURCES . '/src/Service/'), -4));
    if ($file->getExtension() !== 'php' || in_array($class, ['Service', 'ServiceFactory'], true)) {
        continue;
    }
    foreach ((new ReflectionClass("Resend\\Service\\$class"))->getMethods(ReflectionMethod::IS_PUBLIC) as $method) {
        $name = str_replace('\\', '.', $class) . '.' . $method->getName();
        if (!str_starts_with($method->getName(), '__') && !isset($called[$name])) {
            notify('/-/begin', ['name' => $name]);
            notify('/-/end', ['error' => 'the script does not call this method']);
        }
    }
}
