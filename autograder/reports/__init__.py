"""What people read: feedback pages, reports, exports."""
