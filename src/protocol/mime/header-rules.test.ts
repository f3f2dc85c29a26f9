import { describe, expect, test } from 'vitest';
import { contentIdFault, contentTypeFault, headerFault, isReservedHeader } from './index.ts';

describe('a caller may not set', () => {
  test.each([
    'From',
    'To',
    'cc',
    'BCC',
    'Resent-Bcc',
    'Subject',
    'date',
    'Message-ID',
    'Return-Path',
    'Received',
    'MIME-Version',
    'Content-Type',
    'content-disposition',
    'DKIM-Signature',
    'DomainKey-Signature',
    'ARC-Seal',
    'Authentication-Results',
    'List-Unsubscribe',
    'LIST-UNSUBSCRIBE-POST',
    'Delivered-To',
    'Received-SPF',
  ])('%s', (name) => {
    expect(isReservedHeader(name)).toBe(true);
    expect(headerFault(name, 'x')).toMatch(/written by the service/);
  });
});

test.each([
  'Reply-To',
  'Sender',
  'References',
  'In-Reply-To',
  'X-Entity-Ref-ID',
  'List-ID',
  'Fromage',
  'X-Content-Type',
  'Importance',
])('a caller may set %s', (name) => expect(headerFault(name, 'value')).toBeUndefined());

test.each([
  ['', 'x', /empty name/],
  ['X A', 'x', /printable ASCII/],
  ['X:A', 'x', /printable ASCII/],
  ['X-Ü', 'x', /printable ASCII/],
  ['X-A\r\nBcc', 'x', /printable ASCII/],
  ['X'.repeat(77), 'x', /at most 76/],
  ['X-A', 'a\r\nBcc: x@y.z', /line break/],
  ['X-A', 'a\0', /control/],
  ['X-A', 'a\u2028b', /line break/],
  ['X-A', 'a\ud800', /control/],
  ['X-A', 'ü'.repeat(500), /1000 bytes; at most 998/],
  ['Reply-To', 'Ü a@b.c', /not one mailbox/],
])('%j: %j is refused', (name, value, fault) => expect(headerFault(name, value)).toMatch(fault));

test.each([
  ['X-A', 'a\tb'],
  ['X-A', ''],
  ['X-A', 'Grüße 👋'],
  ['X-A', 'x'.repeat(998)],
  ['Reply-To', 'Ü <a@b.c>'],
])('%j: %j is accepted', (name, value) => expect(headerFault(name, value)).toBeUndefined());

test('media types and content ids are judged by their syntax', () => {
  for (const type of ['application/pdf', 'text/calendar; method=REQUEST; charset="utf-8"', 'image/svg+xml'])
    expect(contentTypeFault(type)).toBeUndefined();
  for (const type of ['', 'pdf', 'a/b c', 'a/b\r\nX: y', 'a/b; x', `a/${'b'.repeat(300)}`])
    expect(contentTypeFault(type)).toMatch(/type\/subtype/);
  for (const id of ['logo', '<a@b>', 'a@b']) expect(contentIdFault(id)).toBeUndefined();
  for (const id of ['', 'a b', 'a\r\nb', 'ü', '<>']) expect(contentIdFault(id)).toMatch(/printable ASCII/);
});
