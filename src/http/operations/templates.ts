import type { CreateTemplateRequest, UpdateTemplateRequest } from '../../contract/index.ts';
import {
  createTemplate,
  deleteTemplate,
  duplicateTemplate,
  getTemplate,
  listTemplates,
  publishTemplate,
  updateTemplate,
} from '../../resources/templates/index.ts';
import { CREATED, type KeyHandler } from '../operation.ts';
import { pageOf } from '../page.ts';

export const templates: Record<string, KeyHandler> = {
  createTemplate(ctx, { body, reply }) {
    reply.code(CREATED);
    return createTemplate(ctx, body as CreateTemplateRequest);
  },
  listTemplates: (ctx, { query }) => listTemplates(ctx, pageOf(query)),
  getTemplate: (ctx, { path }) => getTemplate(ctx, path.template ?? ''),
  updateTemplate: (ctx, { path, body }) => updateTemplate(ctx, path.template ?? '', body as UpdateTemplateRequest),
  deleteTemplate: (ctx, { path }) => deleteTemplate(ctx, path.template ?? ''),
  publishTemplate: (ctx, { path }) => publishTemplate(ctx, path.template ?? ''),
  duplicateTemplate(ctx, { path, reply }) {
    reply.code(CREATED);
    return duplicateTemplate(ctx, path.template ?? '');
  },
};

/** Operations whose body holds an email's html and text, which may be larger than other bodies. */
export const storesBodies: ReadonlySet<string> = new Set(['createTemplate', 'updateTemplate']);
