"""The admin site, and the base classes of the admin pages in all apps.

acting    who acts in which community
base      the base classes of all model admins
listing   list pages: columns, search, filters, order, keyset paging
home      the cards of the home page
site      the site itself: side bar, switcher, time zones
"""
