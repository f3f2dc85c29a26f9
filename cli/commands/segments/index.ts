import type { Command } from 'commander';
import { segmentContacts, segments } from '../../families/index.ts';
import { act, declareCommand } from '../declare.ts';
import { declareFamily } from '../declare-family.ts';
import { nameFields } from '../field-names.ts';

export function addSegmentCommands(program: Command): void {
  declareFamily(program, segments, declarePreview);
  declareFamily(program, segmentContacts);
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
