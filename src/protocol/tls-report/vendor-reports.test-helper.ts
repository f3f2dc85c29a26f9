/**
 * Reports in the form in which different senders write them: order of fields, forms of times and what is missing are
 * those of the sources, names and numbers are invented.
 */
export const VENDOR_TLS_REPORTS: readonly { vendor: string; source: string; json: string }[] = [
  {
    vendor: 'Google, with a policy',
    source: 'https://github.com/jgosmann/dmarc-metrics-exporter/issues/52',
    json: `{
  "organization-name": "Google Inc.",
  "date-range": { "start-datetime": "2025-06-01T00:00:00Z", "end-datetime": "2025-06-01T23:59:59Z" },
  "contact-info": "smtp-tls-reporting@google.com",
  "report-id": "2025-06-01T00:00:00Z_example.com",
  "policies": [{
    "policy": {
      "policy-type": "sts",
      "policy-string": ["version: STSv1", "mode: enforce", "mx: *.example.com", "max_age: 1209600"],
      "policy-domain": "example.com",
      "mx-host": ["*.example.com"]
    },
    "summary": { "total-successful-session-count": 3, "total-failure-session-count": 0 }
  }]
}`,
  },
  {
    vendor: 'Google, with failures',
    source:
      'https://github.com/domainaware/parsedmarc/blob/6358c364018af0815b59087eef99ff914bb6fa51/samples/smtp_tls/smtp_tls.json',
    json: '{"organization-name":"Google Inc.","date-range":{"start-datetime":"2024-01-09T00:00:00Z","end-datetime":"2024-01-09T23:59:59Z"},"contact-info":"smtp-tls-reporting@google.com","report-id":"2024-01-09T00:00:00Z_example.com","policies":[{"policy":{"policy-type":"sts","policy-string":["version: STSv1","mode: testing","mx: example.com","max_age: 86400"],"policy-domain":"example.com"},"summary":{"total-successful-session-count":0,"total-failure-session-count":3},"failure-details":[{"result-type":"validation-failure","sending-mta-ip":"192.0.2.201","receiving-ip":"198.51.100.41","receiving-mx-hostname":"example.com","failed-session-count":2},{"result-type":"validation-failure","sending-mta-ip":"192.0.2.176","receiving-ip":"198.51.100.41","receiving-mx-hostname":"example.com","failed-session-count":1}]}]}',
  },
  {
    vendor: 'Google, without a policy',
    source:
      'https://github.com/domainaware/parsedmarc/blob/6358c364018af0815b59087eef99ff914bb6fa51/samples/smtp_tls/google.com_smtp_tls_report.eml',
    json: '{"organization-name":"Google Inc.","date-range":{"start-datetime":"2024-09-03T00:00:00Z","end-datetime":"2024-09-03T23:59:59Z"},"contact-info":"smtp-tls-reporting@google.com","report-id":"2024-09-03T00:00:00Z_example.com","policies":[{"policy":{"policy-type":"no-policy-found","policy-domain":"example.com"},"summary":{"total-successful-session-count":48,"total-failure-session-count":0}}]}',
  },
  {
    vendor: 'Microsoft, with times that have no zone',
    source:
      'https://github.com/mjl-/mox/blob/1c9587665b321199312e11b6a47a0480a9e2750f/testdata/tlsreports/microsoft.eml',
    json: '{"organization-name":"Microsoft Corporation","date-range":{"start-datetime":"2023-01-10T00:00:00","end-datetime":"2023-01-10T23:59:59"},"contact-info":"tlsrpt-noreply@microsoft.com","report-id":"133198585438131172+example.com","policies":[{"policy":{"policy-type":"sts","policy-string":["version: STSv1","mode: enforce","mx: mail.example.com","max_age: 86400"],"policy-domain":"example.com"},"summary":{"total-successful-session-count":2,"total-failure-session-count":0}}]}',
  },
  {
    vendor: 'Microsoft, with TLSA records as JSON in a string',
    source:
      'https://github.com/cry-inc/dmarc-report-viewer/blob/64d5eafaa13a7af410333b29a9794ab9eee342d2/testdata/smtp-tls-reports/microsoft.json',
    json: String.raw`{"organization-name":"Microsoft Corporation","date-range":{"start-datetime":"2025-05-23T00:00:00Z","end-datetime":"2025-05-23T23:59:59Z"},"contact-info":"tlsrpt-noreply@microsoft.com","report-id":"133925885310113267+example.com","policies":[{"policy":{"policy-type":"tlsa","policy-string":["[\"3 1 1 6007EE55\",\"3 1 1 837C773D\"]"],"policy-domain":"example.com"},"summary":{"total-successful-session-count":2,"total-failure-session-count":0}}]}`,
  },
  {
    vendor: 'Microsoft, about a policy that could not be fetched',
    source: 'https://github.com/cry-inc/dmarc-report-viewer/issues/57',
    json: '{"organization-name":"Microsoft Corporation","date-range":{"start-datetime":"2025-06-14T00:00:00Z","end-datetime":"2025-06-14T23:59:59Z"},"contact-info":"tlsrpt-noreply@microsoft.com","report-id":"133944884956529435+","policies":[{"policy":{"policy-type":"sts","policy-domain":"example.com"},"summary":{"total-successful-session-count":0,"total-failure-session-count":3},"failure-details":[{"result-type":"sts-policy-fetch-error","failed-session-count":3}]}]}',
  },
  {
    vendor: 'Mail.ru',
    source:
      'https://github.com/domainaware/parsedmarc/blob/6358c364018af0815b59087eef99ff914bb6fa51/samples/smtp_tls/mail.ru.json',
    json: `{
   "contact-info": "tls_support@corp.mail.ru",
   "date-range": { "end-datetime": "2024-02-23T00:00:00Z", "start-datetime": "2024-02-22T00:00:00Z" },
   "organization-name": "Mail.ru",
   "policies": [{
      "failure-details": [
         { "failed-session-count": 1, "failure-reason-code": "bad https response code: 404", "result-type": "sts-policy-fetch-error" },
         { "failed-session-count": 1, "failure-reason-code": "bad https response code: 500", "result-type": "sts-policy-fetch-error" }
      ],
      "policy": { "policy-domain": "example.com", "policy-type": "sts" },
      "summary": { "total-failure-session-count": 1, "total-successful-session-count": 0 }
   }],
   "report-id": "b28254de-7b2e-be36-bb5c-4c3b92da8b25@mail.ru"
}`,
  },
  {
    vendor: 'Postfix with tlsrpt-reporter, without a policy domain',
    source: 'https://github.com/sys4/tlsrpt-reporter/issues/51',
    json: `{
  "organization-name": "mail.example.net",
  "date-range": { "start-datetime": "2025-09-20T00:00:00Z", "end-datetime": "2025-09-20T23:59:59Z" },
  "contact-info": "smtp-tls-reporting@mail.example.net",
  "policies": [{
    "summary": { "total-failure-session-count": 0, "total-successful-session-count": 1 },
    "policy": { "policy-type": "no-policy-found" },
    "failure-details": []
  }],
  "report-id": "2025-09-20T00:00:00Z_idx1_example.com"
}`,
  },
  {
    vendor: 'a server that gives no contact, with a period that ends at midnight',
    source: 'https://github.com/domainaware/parsedmarc/issues/575',
    json: '{"organization-name":"mx.example.net","date-range":{"start-datetime":"2024-10-31T00:00:00Z","end-datetime":"2024-11-01T00:00:00Z"},"contact-info":null,"report-id":"1730332800_11732957880687192466","policies":[{"policy":{"policy-type":"no-policy-found","policy-string":[],"policy-domain":"example.com","mx-host":[]},"summary":{"total-successful-session-count":1,"total-failure-session-count":0},"failure-details":[]}]}',
  },
  {
    vendor: 'mox, with TLSA records',
    source: 'https://github.com/mjl-/mox/blob/1c9587665b321199312e11b6a47a0480a9e2750f/tlsrpt/report.go',
    json: '{"organization-name":"remote.example","date-range":{"start-datetime":"2024-02-25T00:00:00Z","end-datetime":"2024-02-25T23:59:59Z"},"contact-info":"postmaster@remote.example","report-id":"20240225.example.com@remote.example","policies":[{"policy":{"policy-type":"tlsa","policy-string":["3 1 1 206d5f55","3 1 1 4201e4b7"],"policy-domain":"mail.example.com","mx-host":["mail.example.com"]},"summary":{"total-successful-session-count":0,"total-failure-session-count":1},"failure-details":[{"result-type":"validation-failure","sending-mta-ip":"192.0.2.10","receiving-mx-hostname":"mail.example.com","receiving-ip":"198.51.100.3","failed-session-count":1,"additional-information":"","failure-reason-code":"tls-remote-alert-80-internal-error"}]}]}',
  },
  {
    vendor: 'the example of RFC 8460, with mx-host as a string',
    source: 'https://www.rfc-editor.org/rfc/rfc8460#appendix-B',
    json: `{
  "organization-name": "Company-X",
  "date-range": { "start-datetime": "2016-04-01T00:00:00Z", "end-datetime": "2016-04-01T23:59:59Z" },
  "contact-info": "sts-reporting@company-x.example",
  "report-id": "5065427c-23d3-47ca-b6e0-946ea0e8c4be",
  "policies": [{
    "policy": {
      "policy-type": "sts",
      "policy-string": ["version: STSv1","mode: testing", "mx: *.mail.company-y.example","max_age: 86400"],
      "policy-domain": "company-y.example",
      "mx-host": "*.mail.company-y.example"
    },
    "summary": { "total-successful-session-count": 5326, "total-failure-session-count": 303 },
    "failure-details": [{
      "result-type": "certificate-expired",
      "sending-mta-ip": "2001:db8:abcd:0012::1",
      "receiving-mx-hostname": "mx1.mail.company-y.example",
      "failed-session-count": 100
    }, {
      "result-type": "starttls-not-supported",
      "sending-mta-ip": "2001:db8:abcd:0013::1",
      "receiving-mx-hostname": "mx2.mail.company-y.example",
      "receiving-ip": "203.0.113.56",
      "failed-session-count": 200,
      "additional-information": "https://reports.company-x.example/report_info?id=5065427c-23d3#StarttlsNotSupported"
    }, {
      "result-type": "validation-failure",
      "sending-mta-ip": "198.51.100.62",
      "receiving-ip": "203.0.113.58",
      "receiving-mx-hostname": "mx-backup.mail.company-y.example",
      "failed-session-count": 3,
      "failure-reason-code": "X509_V_ERR_PROXY_PATH_LENGTH_EXCEEDED"
    }]
  }]
}`,
  },
];
