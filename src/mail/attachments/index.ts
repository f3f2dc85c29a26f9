/**
 * The attachments of sent emails: what there is, and links under which the files can be had for fifteen minutes without a
 * key. Whatever is wrong with a link, the answer is the same 404; the files themselves are written by accept and read
 * here.
 */
export { downloadAttachment, type Download, getAttachment, listAttachments } from './attachments.ts';
