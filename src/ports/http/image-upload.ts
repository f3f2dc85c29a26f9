import { createImage as storeImage } from '../../features/templates/images/index.ts';
import type { Page } from './page.ts';

/** The body is the picture, byte for byte. */
export const createImage: Page<'createImage'> = async (ctx, _call, { reply }) => {
  const { body } = reply.request;
  reply.code(201);
  return storeImage(ctx, Buffer.isBuffer(body) ? body : Buffer.alloc(0));
};
