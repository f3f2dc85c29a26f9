/** The counters and their labels. Names must never change: dashboards and alerts of operators depend on them. */
export const COUNTERS = {
  rasket_emails_accepted_total: { help: 'Emails accepted for sending, by API, SMTP and our own accord.', labels: [] },
  rasket_recipients_accepted_total: { help: 'Recipients of accepted emails.', labels: [] },
  rasket_deliveries_total: {
    help: 'Recipients by how an attempt ended; domain is that of the recipient, or "other".',
    labels: ['outcome', 'domain'],
  },
  rasket_provider_deliveries_total: {
    help: 'Recipients by how a transaction with a provider of the settings ended; all other receivers are "other".',
    labels: ['provider', 'outcome'],
  },
  rasket_provider_refusals_total: {
    help: 'Recipients that a provider of the settings deferred or bounced, by the cause that its reply names, or "none"; all other receivers are "other".',
    labels: ['provider', 'outcome', 'cause'],
  },
  rasket_provider_complaints_total: {
    help: 'Complaints in feedback reports, by the provider of the settings that the email went to, or "other".',
    labels: ['provider'],
  },
  rasket_received_total: { help: 'Messages that came in by SMTP, by what the client was told.', labels: ['result'] },
  rasket_smtp_logins_refused_total: { help: 'Logins refused at the ports for submission.', labels: [] },
  rasket_submissions_refused_total: { help: 'Messages refused after a login.', labels: [] },
  rasket_webhook_attempts_total: { help: 'Attempts at webhook events.', labels: ['result'] },
  rasket_blob_requests_total: {
    help: 'Requests to the S3-compatible store of blobs, each try, by operation and result.',
    labels: ['operation', 'result'],
  },
  rasket_blob_bytes_total: { help: 'Content sent to and received from that store.', labels: ['direction'] },
  rasket_trace_spans_dropped_total: { help: 'Spans that the collector of traces did not get.', labels: [] },
  rasket_http_requests_total: { help: 'Answered requests of the API.', labels: ['operation', 'status'] },
} as const;

export const HISTOGRAMS = {
  rasket_http_request_seconds: {
    help: 'From the head of a request to the end of its answer.',
    labels: ['operation'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
} as const;

/** Values that are read for each scrape instead of counted. */
export const GAUGES = {
  rasket_build_info: { help: 'Always 1; the version that runs.', labels: ['version'] },
  rasket_sending_on: { help: '0 while sending is switched off.', labels: [] },
  rasket_queue_deliveries: { help: 'Deliveries in the queue, by state.', labels: ['state'] },
  rasket_queue_domain_deliveries: { help: 'Deliveries in the queue for the domains with most.', labels: ['domain'] },
  rasket_queue_oldest_seconds: { help: 'Age of the oldest delivery that is not scheduled.', labels: [] },
  rasket_deliveries_in_flight: { help: 'Deliveries that this process carries.', labels: [] },
  rasket_provider_connections: {
    help: 'Open connections of this process to a provider of the settings, or to all "other" receivers.',
    labels: ['provider'],
  },
  rasket_provider_suspended: {
    help: '1 while all mail to a provider of the settings is suspended; for "other", the number of suspended receivers.',
    labels: ['provider'],
  },
  rasket_breakers: { help: 'Circuit breakers that limit mail, by state.', labels: ['state'] },
  rasket_event_loop_delay_seconds: {
    help: 'How late this process ran what was due, in the last minute; bulk mail slows down above 0.02.',
    labels: ['quantile'],
  },
  rasket_smtp_connections: { help: 'Open connections of the SMTP ports, by kind of port.', labels: ['kind'] },
  rasket_findings: { help: 'What is wrong at this moment, as in rasket doctor.', labels: ['code', 'severity'] },
  rasket_nodes: { help: 'Processes of this installation that report.', labels: [] },
  rasket_nodes_heard: {
    help: '0 while this process does not hear what other nodes commit, and finds it by polling.',
    labels: [],
  },
  rasket_disk_free_bytes: { help: 'Free for us on the disk of the data folder.', labels: [] },
  rasket_disk_size_bytes: { help: 'Size of the disk of the data folder.', labels: [] },
  rasket_certificate_expiry_seconds: { help: 'When the certificate of the SMTP ports ends, as Unix time.', labels: [] },
} as const;

export type CounterName = keyof typeof COUNTERS;
export type HistogramName = keyof typeof HISTOGRAMS;
export type GaugeName = keyof typeof GAUGES;
export type LabelsOf<Metric extends { labels: readonly string[] }> = Record<Metric['labels'][number], string>;
