import {
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  getTemplate,
  listTemplates,
  publishTemplate,
  updateTemplate,
} from '../features/templates/templates/index.ts';
import { pageOf, type Operations } from './operation.ts';

export const templates = {
  createTemplate: (ctx, { body }) => createTemplate(ctx, body),
  listTemplates: (ctx, { query }) => listTemplates(ctx, pageOf(query)),
  getTemplate: (ctx, { path }) => getTemplate(ctx, path.template),
  updateTemplate: (ctx, { path, body }) => updateTemplate(ctx, path.template, body),
  deleteTemplate: (ctx, { path }) => deleteTemplate(ctx, path.template),
  publishTemplate: (ctx, { path }) => publishTemplate(ctx, path.template),
  duplicateTemplate: (ctx, { path }) => duplicateTemplate(ctx, path.template),
} satisfies Partial<Operations>;
