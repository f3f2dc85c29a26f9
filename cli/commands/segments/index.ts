import type { Command } from 'commander';
import { segmentContacts, segments } from '../../families/index.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

export function addSegmentCommands(program: Command): void {
  declareFamily(program, segments, (parent) => {
    declareCreate(parent);
    declarePreview(parent);
  });
  declareFamily(program, segmentContacts);
}

function declareCreate(parent: Command): void {
  const create = declareCommand(parent, 'create', {
    summary: 'create a segment',
    description:
      'Creates a segment. Without a filter it holds the contacts that are added to it alone; a filter is JSON such as {"all": [{"field": "properties.plan", "op": "eq", "value": "pro"}]}.',
    example: `segments create Paying --filter '{"all": [{"field": "unsubscribed", "op": "eq", "value": false}]}'`,
  }).argument('<name>', 'what you call it');
  addFilter(create).action(
    act(async (session, [name = ''], options) => (await import('./create.ts')).createSegment(session, name, options)),
  );
}

function declarePreview(parent: Command): void {
  const preview = declareCommand(parent, 'preview', {
    summary: 'count whom a filter matches, and keep nothing',
    example: `segments preview --filter '{"all": [{"field": "email", "op": "contains", "value": "@example.org"}]}'`,
  });
  addFilter(preview).action(
    act(async (session, _, options) => (await import('./preview.ts')).previewSegment(session, options)),
  );
}

const addFilter = (command: Command): Command =>
  nameFields(command, { filter: '--filter' })
    .option('--filter <json>', 'the filter')
    .option('--filter-file <file>', 'a file with the filter, - for standard input');
