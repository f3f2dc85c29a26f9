import {
  addContactToSegment,
  countFilter,
  getSegmentMetrics,
  listContactSegments,
  listSegmentContacts,
  listSegmentsWith,
  removeContactFromSegment,
} from '../features/audience/contacts/index.ts';
import { createSegment, deleteSegment, getSegment, updateSegment } from '../features/audience/segments/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const segments = {
  createSegment: (ctx, { body }) => createSegment(ctx, body),
  listSegments: (ctx, { query = {} }) => listSegmentsWith(ctx, query, pageOf(query)),
  previewSegment: (ctx, { body }) => countFilter(ctx, body.filter),
  getSegment: (ctx, { path }) => getSegment(ctx, path.segment),
  updateSegment: (ctx, { path, body }) => updateSegment(ctx, path.segment, body),
  deleteSegment: (ctx, { path }) => deleteSegment(ctx, path.segment),
  listSegmentContacts: (ctx, { path, query = {} }) => listSegmentContacts(ctx, path.segment, query, pageOf(query)),
  getSegmentMetrics: (ctx, { path }) => getSegmentMetrics(ctx, path.segment),
  listContactSegments: (ctx, { path, query }) => listContactSegments(ctx, path.contact, pageOf(query)),
  addContactToSegment: (ctx, { path }) => addContactToSegment(ctx, path.contact, path.segment),
  removeContactFromSegment: (ctx, { path }) => removeContactFromSegment(ctx, path.contact, path.segment),
} satisfies Partial<Operations>;
