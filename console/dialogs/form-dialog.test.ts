import { expect, it } from 'vitest';
import {
  broadcasts,
  emails,
  inboundRules,
  inboxDrafts,
  queue,
  segments,
  type Action,
} from '../../cli/families/index.ts';
import { unstyled } from '../draw/text.ts';
import { FormDialog, type Filled, type FormInput } from './form-dialog.ts';

function openForm(action: Action | undefined, input: Partial<FormInput> = {}) {
  const filled: Filled[] = [];
  const form = new FormDialog('title', { keys: {}, flags: action?.flags ?? {}, ...input }, (one) => filled.push(one));
  const seen = (): string[] => form.draw(90, 40).map((line) => unstyled(line).trimEnd());
  return {
    form,
    filled,
    /** The visible fields, without their values; the selected one has its mark. */
    fields: (): string[] =>
      seen().flatMap(
        (line) => /^(› |  )([a-z][a-z ]*?)( \*| \(\*\))?(?: {2,}.*|)$/.exec(line)?.slice(1, 3).join('') ?? [],
      ),
    seen: () => seen().join('\n'),
    press: (...keys: string[]): boolean => keys.map((key) => form.key(key)).at(-1) ?? true,
    type: (text: string): void => [...text].forEach((key) => form.key(key)),
  };
}

const findAction = (verb: string, of: readonly Action[]): Action | undefined => of.find((one) => one.verb === verb);
const send = findAction('send', emails.actions);

it('a form that is opened with one of several alternatives shows only that one, and starts at the first missing field', () => {
  const { fields, press, type, filled } = openForm(findAction('hold', queue.actions), { given: { email_id: 'x' } });
  expect(fields()).toEqual(['  email', '› reason']);
  type('Stolen key');
  expect(press('enter')).toBe(false);
  const typed = { fields: { email_id: 'x', reason: 'Stolen key' }, files: {}, cleared: {} };
  expect(filled).toEqual([{ path: {}, typed }]);
});

it('the form shows the other alternatives on request', () => {
  const { fields, press } = openForm(findAction('retry', queue.actions), { given: { destination: 'example.org' } });
  expect(fields()).toEqual(['› destination']);
  press('ctrl-o');
  expect(fields()).toEqual(['  destination', '› team', '  email']);
  expect(openForm(findAction('retry', queue.actions)).fields()).toEqual(['› destination', '  team', '  email']);
});

it('the form of an email is short, and Ctrl-O adds the other fields in their place', () => {
  const { fields, press, seen, form } = openForm(send);
  expect(fields()).toEqual(['› from', '  to', '  subject', '  text']);
  expect(form.keys).toContain('ctrl-o more');
  expect(seen()).toContain('Ctrl-O: html, text file, html file, template, variable, cc, bcc, reply to');
  press('ctrl-o');
  expect(fields()).toContain('› html');
  expect(form.keys).not.toContain('ctrl-o');
  expect(seen()).not.toContain('Ctrl-O');
});

it('a required field may stay empty when another field supplies its value', () => {
  const { press, type, seen, filled } = openForm(send);
  press('ctrl-s');
  expect(seen()).toContain('from is required.');
  type('a@example.com');
  press('enter');
  type('b@example.org, c@example.org');
  press('enter', 'ctrl-s');
  expect(seen()).toContain('subject is required.');
  press('ctrl-o', ...Array<string>(3).fill('enter'));
  expect(seen()).toContain('› template');
  type('welcome');
  expect(seen()).not.toMatch(/(from|subject|text) \(?\*/);
  press('enter');
  type('NAME=Ada, COUNT:=5');
  expect(press('ctrl-s')).toBe(false);
  expect(filled[0]?.typed.fields).toEqual({
    from: 'a@example.com',
    to: ['b@example.org', 'c@example.org'],
    'template.id': 'welcome',
    'template.variables': ['NAME=Ada', 'COUNT:=5'],
  });
});

it.each([
  ['to (number 2): The address "c" has no @', '› to'],
  ['Some fields are wrong (validation_error). subject: must not be empty', '› subject'],
  ['attach /x cannot be read: there is no such file', '› attach'],
  ['No server is listening at http://127.0.0.1:3000. Next: start it', '› html'],
])('a refusal moves the cursor to the field it names: %s', (fault, field) => {
  const { form, fields, press } = openForm(send);
  press('ctrl-o');
  form.refuse(fault);
  expect(fields()).toContain(field);
});

it('an unambiguous prefix of a choice selects it', () => {
  const { press, type, filled, seen } = openForm(findAction('create', inboundRules.actions));
  type('support@example.com');
  press('enter');
  type('fo');
  press('enter');
  expect(seen()).toMatch(/action \* +forward$/m);
  type('office@example.org');
  press('enter');
  expect(filled[0]?.typed.fields).toMatchObject({ action: 'forward', forward_to: ['office@example.org'] });
});

it('the filter of a segment is entered as a condition or as JSON', () => {
  const { form, fields, press, type, filled, seen } = openForm(findAction('create', segments.actions));
  type('Paying');
  press('enter');
  type('{"all"');
  press('enter');
  expect(seen()).toContain('filter must be JSON.');
  press('ctrl-u');
  type('properties.plan = pro');
  press('enter');
  expect(filled[0]?.typed.fields).toEqual({ name: 'Paying', filter: 'properties.plan = pro' });
  press('up');
  form.refuse('filter, at character 3: = is expected here');
  expect(fields()).toContain('› filter');
});

it('pasted line breaks are kept only in fields that allow several lines', () => {
  const { form, press, type, filled } = openForm(send);
  form.paste(' a@example.com\n');
  press('enter');
  type('b@example.org');
  press('enter');
  form.paste('Two\nlines');
  press('enter');
  form.paste('One\n\nTwo\n');
  press('ctrl-s');
  expect(filled[0]?.typed.fields).toMatchObject({ from: 'a@example.com', subject: 'Two lines', text: 'One\n\nTwo' });
});

it('a form that is taller than the screen shows the number of the current field, and its key hints fit 80 columns', () => {
  const { form } = openForm(findAction('create', broadcasts.actions));
  form.draw(70, 30);
  expect(form.where).toBe('');
  form.draw(70, 10);
  expect(form.where).toBe('1 of 10');
  expect(form.keys).toBe('enter next   ctrl-s submit   ctrl-o more   ↑↓ tab other fields   esc cancel');
  expect(form.keys.length).toBeLessThan(80);
});

it('a form whose fields are all hidden is submitted by enter, and opens them on demand', () => {
  const action = findAction('send', inboxDrafts.actions);
  const { form, press, filled } = openForm(action);
  expect(form.keys).toBe('enter submit   ctrl-o more   esc cancel');
  press('tab', 'down', 'up');
  expect(press('enter')).toBe(false);
  expect(filled).toEqual([{ path: {}, typed: { fields: {}, files: {}, cleared: {} } }]);
  const opened = openForm(action);
  opened.press('tab', 'ctrl-o');
  expect(opened.fields()).toContain('› header');
});
